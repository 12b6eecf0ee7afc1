// Print and assert: entries of the ring of diagnostics. An assertion is a branch around one, a printed tile a loop.
#include <cstring>

#include "builder/builder.h"
#include "ir/report.h"
#include "ir/semantics.h"

namespace tilert::builder {
namespace {

constexpr size_t kMaxMessage = 4096;

std::string with_double_braces(std::string_view text) {
  std::string out;
  for (char c : text) out.append(c == '{' || c == '}' ? 2 : 1, c);
  return out;
}

}  // namespace

// A value in a dtype that an entry holds: narrower floats as f32, 4-bit integers as int32, which lose nothing.
ir::Expr Builder::reported(ir::Expr value) const {
  if (ir::report_takes(value->dtype)) return value;
  return program_->arena->cast(value, dtype_is_float(value->dtype) ? DType::f32 : DType::int32);
}

Result<ir::Expr> Builder::reported(tilert_expr id, std::string_view what) const {
  TILERT_ASSIGN(const Value found, value(id, what));
  if (!found.expr) return adopt(found, found.literal, what);
  return reported(found.expr);
}

Result<ir::Report> Builder::report_of(std::string message, std::vector<ir::Expr> values) const {
  if (message.size() > kMaxMessage) return make_error(Code::kInvalidArgument, "the message is longer than {} bytes", kMaxMessage);
  const std::optional<size_t> places = ir::report_places(message);
  if (!places) return make_error(Code::kInvalidArgument, "a brace stands alone in \"{}\": write it twice", message);
  if (*places && *places != values.size())
    return make_error(Code::kInvalidArgument, "\"{}\" has {} places for {} values: give one {{}} for each, or none for all", message,
                      *places, values.size());
  ir::Report made;
  made.message = std::move(message);
  made.values = std::move(values);
  for (ir::VarId v : kernel_.block_vars) made.block.push_back(program_->var(v));
  return made;
}

Result<ir::Report> Builder::report_of(const char* message, const tilert_expr* values, uint32_t count) {
  if (!message) return make_error(Code::kInvalidArgument, "the message is NULL");
  if (count > ir::kMaxReported || (count && !values))
    return make_error(Code::kInvalidArgument, "{} values: give at most {}, and their array; report the others by themselves", count,
                      ir::kMaxReported);
  std::vector<ir::Expr> list;
  for (uint32_t i = 0; i < count; ++i) {
    TILERT_ASSIGN(const ir::Expr e, reported(values[i], fmt::format("value {}", i)));
    list.push_back(e);
  }
  return report_of(std::string(message, strnlen(message, kMaxMessage + 1)), std::move(list));
}

Code Builder::print(const char* message, const tilert_expr* values, uint32_t count) {
  return run("print", [&]() -> Status {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(ir::Report made, report_of(message, values, count));
    append(std::move(made));
    return {};
  });
}

// Each element by itself, after its place: "t[3, 5] = 0.25".
Status Builder::do_print_tile(const char* name, const tilert_region* region) {
  TILERT_TRY(need_tile_level());
  TILERT_ASSIGN(const Place from, place(region, "the tile"));
  const size_t rank = from.offsets.size();
  if (from.extents.size() != rank)
    return make_error(Code::kInvalidProgram, "give the extents of {}: whole tiles have their own", text_of(from.buffer));
  if (rank + 1 > ir::kMaxReported)
    return make_error(Code::kInvalidProgram, "{} has rank {}, and an entry holds {} values: print its elements in parallel",
                      text_of(from.buffer), rank, ir::kMaxReported);
  TILERT_TRY(check_bounds(from.buffer, from.offsets, from.extents, "the tile"));
  TILERT_TRY(use(from.buffer, Use::read, "the tile"));
  const ir::Buffer& buffer = program_->buffers[from.buffer];
  std::string message = with_double_braces(name ? std::string_view(name, strnlen(name, kMaxMessage + 1)) : buffer.name);
  for (size_t d = 0; d < rank; ++d) message += d ? ", {}" : "[{}";
  message += rank ? "] = {}" : " = {}";
  PointLoop points = point_loop(from.extents);
  ir::Arena& arena = *program_->arena;
  std::vector<ir::Expr> values;
  for (size_t d = 0; d < rank; ++d) values.push_back(arena.make(ir::Op::add, {from.offsets[d], points.points[d]}));
  values.push_back(reported(read_point(points.loop.body, from.buffer, values)));
  TILERT_ASSIGN(ir::Report made, report_of(std::move(message), std::move(values)));
  put(points.loop.body, std::move(made));
  append_loop(std::move(points));
  return {};
}

Code Builder::print_tile(const char* name, const tilert_region* region) {
  return run("print", [&] { return do_print_tile(name, region); });
}

Status Builder::do_assert(tilert_expr condition, const char* message, const tilert_expr* values, uint32_t count) {
  TILERT_TRY(need_statements());
  TILERT_ASSIGN(const ir::Expr holds, typed(condition, DType::boolean, "the condition"));
  TILERT_ASSIGN(ir::Report made, report_of(message, values, count));
  made.failed = true;
  ir::If branch{program_->arena->make(ir::Op::logical_not, {holds}), {}, {}};
  put(branch.then_body, std::move(made));
  append(std::move(branch));
  return {};
}

Code Builder::assert_true(tilert_expr condition, const char* message, const tilert_expr* values, uint32_t count) {
  return run("assert", [&] { return do_assert(condition, message, values, count); });
}

}  // namespace tilert::builder
