// Random draws: four words from a seed, a counter and a stream, and what is made of them. Each value is a let.
#include "builder/builder.h"

namespace tilert::builder {
namespace {

constexpr ir::Op kWords[] = {ir::Op::philox0, ir::Op::philox1, ir::Op::philox2, ir::Op::philox3};

// A word as an f32 in [0, 1): its upper 24 bits, exactly.
ir::Expr uniform(ir::Arena& arena, ir::Expr word) {
  const ir::Expr bits = arena.make(ir::Op::shr, {word, arena.constant(DType::int64, 8)});
  return arena.make(ir::Op::mul, {arena.cast(bits, DType::f32), arena.f32(0x1p-24f)});
}

// Two uniform numbers as two normal ones, by Box and Muller.
std::pair<ir::Expr, ir::Expr> normal(ir::Arena& arena, ir::Expr u, ir::Expr v) {
  const ir::Expr log = arena.make(ir::Op::log, {arena.make(ir::Op::sub, {arena.f32(1), u})});
  const ir::Expr radius = arena.make(ir::Op::sqrt, {arena.make(ir::Op::mul, {arena.f32(-2), log})});
  const ir::Expr angle = arena.make(ir::Op::mul, {arena.f32(6.28318531f), v});
  return {arena.make(ir::Op::mul, {radius, arena.make(ir::Op::cos, {angle})}),
          arena.make(ir::Op::mul, {radius, arena.make(ir::Op::sin, {angle})})};
}

}  // namespace

// Any integer, by its bits: narrower ones keep their value.
Result<ir::Expr> Builder::draw_operand(tilert_expr id, std::string_view what) const {
  if (is_none(id)) return program_->arena->constant(DType::int64, 0);
  TILERT_ASSIGN(const Value found, value(id, what));
  if (!found.expr) return adopt(found, DType::int64, what);
  const DType dtype = found.expr->dtype;
  if (dtype != DType::index && (!dtype_is_integer(dtype) || dtype == DType::boolean))
    return make_error(Code::kInvalidProgram, "{} is {}, not an integer: cast it", what, dtype_text(dtype));
  return program_->arena->cast(found.expr, DType::int64);
}

Status Builder::do_random(tilert_random form, tilert_expr seed, tilert_expr counter, tilert_expr stream, tilert_expr* values) {
  TILERT_TRY(need_kernel());
  if (!values) return make_error(Code::kInvalidArgument, "values is NULL: give room for four");
  if (form < TILERT_RANDOM_BITS || form > TILERT_RANDOM_NORMAL)
    return make_error(Code::kInvalidArgument, "{} is no form of random numbers", form);
  ir::Arena& arena = *program_->arena;
  if (form == TILERT_RANDOM_BITS) {
    TILERT_ASSIGN([[maybe_unused]] const DType word, storage_dtype(TILERT_UINT32, "the dtype of random bits"));
  }
  TILERT_ASSIGN(const ir::Expr key, draw_operand(seed, "the seed"));
  TILERT_ASSIGN(const ir::Expr low, draw_operand(counter, "the counter"));
  TILERT_ASSIGN(const ir::Expr high, draw_operand(stream, "the stream"));
  ir::Expr made[4];
  for (int i = 0; i < 4; ++i) {
    made[i] = arena.make(kWords[i], {key, low, high});
    made[i] = form == TILERT_RANDOM_BITS ? arena.cast(made[i], DType::uint32) : uniform(arena, made[i]);
  }
  if (form == TILERT_RANDOM_NORMAL)
    for (int i = 0; i < 4; i += 2) std::tie(made[i], made[i + 1]) = normal(arena, made[i], made[i + 1]);
  for (int i = 0; i < 4; ++i) {
    ir::VarId var;
    TILERT_ASSIGN(values[i], add_variable(ir::VarKind::let, made[i]->dtype, "random", {}, &var));
    append(ir::Let{var, made[i], {}});
  }
  return {};
}

Code Builder::random(tilert_random form, tilert_expr seed, tilert_expr counter, tilert_expr stream, tilert_expr* values) {
  return run("random", [&] { return do_random(form, seed, counter, stream, values); });
}

}  // namespace tilert::builder
