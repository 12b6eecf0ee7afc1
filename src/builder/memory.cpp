// Single elements: let, load, store; and source text in the middle of a kernel.
#include <cstring>

#include "builder/builder.h"
#include "ir/words.h"

namespace tilert::builder {
namespace {

constexpr size_t kMaxSource = size_t{1} << 20;
constexpr uint32_t kMaxOperands = 64;

}  // namespace

tilert_expr Builder::let(tilert_expr x) {
  return make<tilert_expr>("let", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(const Value found, value(x, "the value"));
    if (!found.expr) return make_error(Code::kInvalidProgram, "a literal has no dtype yet: let takes a typed value");
    ir::VarId var;
    TILERT_ASSIGN(const tilert_expr id, add_variable(ir::VarKind::let, found.expr->dtype, "t", {}, &var));
    append(ir::Let{var, found.expr, {}});
    drop_label();
    return id;
  });
}

tilert_expr Builder::load(const tilert_region* element) {
  return make<tilert_expr>("load", [&]() -> Result<tilert_expr> {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(ir::Access from, access(element, "the source"));
    TILERT_TRY(use(from.buffer, Use::read, "the source"));
    ir::VarId var;
    TILERT_ASSIGN(const tilert_expr id,
                  add_variable(ir::VarKind::let, program_->buffers[from.buffer].dtype, "t", {}, &var));
    append(ir::Let{var, nullptr, std::move(from)});
    drop_label();
    return id;
  });
}

Code Builder::store(const tilert_region* element, tilert_expr x) {
  return run("store", [&]() -> Status {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(ir::Access to, access(element, "the destination"));
    const ir::Buffer& buffer = program_->buffers[to.buffer];
    if (ir::is_packed(*program_, to.buffer))
      return make_error(Code::kInvalidProgram,
                        "{} holds {}, whose elements share bytes: store to a fragment or another shared tile and copy that", buffer.name,
                        dtype_text(buffer.dtype));
    TILERT_ASSIGN(const Value found, value(x, "the value"));
    const bool from_index = found.expr && found.expr->dtype == DType::index && buffer.dtype == DType::int64;
    ir::Expr stored = nullptr;
    if (from_index) {
      stored = program_->arena->cast(found.expr, DType::int64);
    } else {
      TILERT_ASSIGN(stored, adopt(found, buffer.dtype, fmt::format("the value stored to {}", buffer.name)));
    }
    TILERT_TRY(use(to.buffer, Use::write, "the destination"));
    TILERT_TRY(check_race(to));
    append(ir::Store{std::move(to), stored});
    return {};
  });
}

Status Builder::do_inline_source(const tilert_inline_source& source) {
  TILERT_TRY(need_tile_level());
  if (!source.language || !source.text) return make_error(Code::kInvalidArgument, "language or text is NULL");
  ir::Inline made;
  made.target.assign(source.language, strnlen(source.language, 16));
  if (!ir::is_source_language(made.target))
    return make_error(Code::kInvalidArgument, "the language '{}' is none of \"cuda\", \"hip\" and \"llvm\"", made.target);
  made.text.assign(source.text, strnlen(source.text, kMaxSource + 1));
  if (made.text.size() > kMaxSource) return make_error(Code::kInvalidArgument, "the text is longer than 1 MiB");
  if (source.place_count > kMaxOperands || source.value_count > kMaxOperands ||
      (source.place_count && !source.places) || (source.value_count && !source.values))
    return make_error(Code::kInvalidArgument, "{} places and {} values: give at most {} of each, and their arrays",
                      source.place_count, source.value_count, kMaxOperands);
  for (uint32_t i = 0; i < source.place_count; ++i) {
    const std::string what = fmt::format("place {}", i);
    TILERT_ASSIGN(ir::Access at, access(&source.places[i], what));
    const ir::Buffer& buffer = program_->buffers[at.buffer];
    if (ir::is_packed(*program_, at.buffer))
      return make_error(Code::kInvalidProgram, "{}: an element of {} has no address of its own: copy it to a var or tile before",
                        what, buffer.name);
    storage_[ir::storage_of(*program_, at.buffer)].written = true;  // the text may write it
    made.operands.emplace_back(std::move(at));
  }
  for (uint32_t i = 0; i < source.value_count; ++i) {
    TILERT_ASSIGN(const Value found, value(source.values[i], fmt::format("value {}", i)));
    if (!found.expr) return make_error(Code::kInvalidProgram, "value {} is a literal: give it a dtype", i);
    made.operands.emplace_back(found.expr);
  }
  append(std::move(made));
  return {};
}

Code Builder::inline_source(const tilert_inline_source& source) {
  return run("inline source", [&] { return do_inline_source(source); });
}

}  // namespace tilert::builder
