// The judge: three interpretations of a case.
#include "random/judge.h"

#include <cmath>
#include <unordered_map>

#include "conformance/numbers.h"
#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "ir/verifier.h"
#include "ir/visit.h"

namespace tilert::random {
namespace {

using ir::Expr;
using ir::Op;

// Blocks in the opposite order.
ir::Program reversed(const ir::Program& program) {
  ir::Program p = ir::clone(program);
  for (ir::Kernel& k : p.kernels) {
    std::unordered_map<ir::VarId, Expr> values;
    for (size_t d = 0; d < k.grid.size(); ++d)
      values[k.block_vars[d]] =
          p.arena->make(Op::sub, {p.arena->make(Op::sub, {k.grid[d], p.arena->index(1)}), p.var(k.block_vars[d])});
    k.body = ir::map_block_exprs(k.body, [&](Expr e) { return ir::substitute(*p.arena, e, values); });
  }
  return p;
}

DType wide(DType dtype) { return dtype_is_float(dtype) ? DType::f64 : dtype; }

// Every float as f64; nothing where bits of a float are looked at.
std::optional<ir::Program> widened(const ir::Program& program) {
  ir::Program p = ir::clone(program);
  bool looks_at_bits = false;
  const auto node = [&](Expr e) -> Expr {
    if (e->is_variable()) return p.arena->variable(e->var(), wide(e->dtype));
    if (e->op == Op::reinterpret) looks_at_bits |= dtype_is_float(e->operand[0]->dtype) || dtype_is_float(e->dtype);
    if (e->is_constant() && dtype_is_float(e->dtype) && e->dtype != DType::f64)
      return p.arena->constant(DType::f64, ir::double_to_bits(DType::f64, ir::bits_to_double(e->dtype, e->bits)));
    if (e->op == Op::cast && dtype_is_float(e->dtype)) return p.arena->cast(e->operand[0], DType::f64);
    return e;
  };
  for (ir::Kernel& k : p.kernels) {
    k.body = ir::map_block_exprs(k.body, [&](Expr e) { return ir::rewrite_expr(*p.arena, e, node); });
  }
  for (ir::Var& v : p.vars) v.dtype = wide(v.dtype);
  for (ir::Buffer& b : p.buffers) b.dtype = wide(b.dtype);
  return looks_at_bits ? std::nullopt : std::optional(std::move(p));
}

Outputs widened_data(const Case& c) {
  Outputs out = make_data(c);
  for (size_t i = 0; i < out.size(); ++i) {
    const ir::Parameter& parameter = c.program.parameters[i];
    const bool scalar = parameter.kind == ir::Parameter::Kind::scalar;
    const DType dtype = scalar ? c.program.vars[parameter.var].dtype : c.program.buffer(parameter.buffer).dtype;
    if (!dtype_is_float(dtype)) continue;
    const size_t width = scalar ? 8 : static_cast<size_t>(dtype_bytes(dtype));
    std::vector<uint8_t> wider(out[i].size() / width * 8);
    for (size_t e = 0; e * width < out[i].size(); ++e)
      ir::store_element(
          DType::f64, &wider[e * 8],
          ir::double_to_bits(DType::f64, ir::bits_to_double(dtype, ir::load_element(dtype, &out[i][e * width]))));
    out[i] = std::move(wider);
  }
  return out;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Status nothing_is_rounded(const Case& c, const Outputs& want) {
  const std::optional<ir::Program> wide_program = widened(c.program);
  if (!wide_program) return {};
  TILERT_ASSIGN(const Outputs got, interpret(c, *wide_program, widened_data(c)));
  for (size_t i = 0; i < want.size(); ++i) {
    if (c.program.parameters[i].kind == ir::Parameter::Kind::scalar) continue;
    if (is_approximate(c.program.parameters[i].name)) continue;
    const ir::Buffer& b = c.program.buffer(c.program.parameters[i].buffer);
    const size_t narrow = static_cast<size_t>(dtype_bytes(b.dtype)),
                 width = static_cast<size_t>(dtype_bytes(wide(b.dtype)));
    for (size_t e = 0; e * narrow < want[i].size(); ++e) {
      const double w = ir::bits_to_double(b.dtype, ir::load_element(b.dtype, &want[i][e * narrow]));
      const double g = ir::bits_to_double(wide(b.dtype), ir::load_element(wide(b.dtype), &got[i][e * width]));
      if (!same(w, g))
        return make_error(Code::kInvalidProgram, "'{}' element {} is rounded: {} instead of {}", b.name, e, w, g);
    }
  }
  return {};
}

}  // namespace

Result<Outputs> interpret(const Case& c, const ir::Program& program, Outputs data) {
  ir::HostArguments arguments;
  arguments.dims = c.dims;
  const std::vector<int> memory = shared_memory(c);
  for (size_t i = 0; i < data.size(); ++i) {
    ir::HostArgument a;
    a.data = data[memory[i] < 0 ? i : static_cast<size_t>(memory[i])].data();
    a.bytes = static_cast<int64_t>(data[i].size());
    if (program.parameters[i].kind == ir::Parameter::Kind::scalar)
      a.scalar = ir::load_element(DType::int64, data[i].data());
    arguments.parameters.push_back(std::move(a));
  }
  ir::InterpretOptions options;
  options.max_statements = int64_t{1} << 30;
  TILERT_TRY(ir::interpret(program, arguments, options));
  for (size_t i = 0; i < data.size(); ++i)
    if (memory[i] >= 0) data[i] = data[static_cast<size_t>(memory[i])];
  return data;
}

Result<Outputs> reference(const Case& c) {
  TILERT_TRY(ir::verify(c.program));
  const FloatEnvironment environment;
  return interpret(c, c.program, make_data(c));
}

Status judge(const Case& c, const Outputs& want) {
  const FloatEnvironment environment;
  TILERT_ASSIGN(const Outputs back, interpret(c, reversed(c.program), make_data(c)));
  if (const std::string found = difference(c, want, back); !found.empty())
    return make_error(Code::kInvalidProgram, "depends on the order of blocks: {}", found);
  return nothing_is_rounded(c, want);
}

double tolerance(const ir::Parameter& parameter, DType dtype, double value) {
  if (!is_approximate(parameter.name) || !dtype_is_float(dtype) || !std::isfinite(value)) return 0;
  const auto ulp = [&](DType of) { return static_cast<double>(conformance::ulp(static_cast<tl::DType>(of), value)); };
  return dtype == DType::f32 ? 3.5 * ulp(dtype) : ulp(dtype) + 3 * ulp(DType::f32);
}

std::string difference(const Case& c, const Outputs& want, const Outputs& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got[i]) continue;
    const ir::Buffer& b = c.program.buffer(c.program.parameters[i].buffer);
    const size_t width = static_cast<size_t>(dtype_bytes(b.dtype));
    for (size_t at = 0; at < want[i].size(); at += width) {
      const uint64_t w = ir::load_element(b.dtype, &want[i][at]), g = ir::load_element(b.dtype, &got[i][at]);
      if (w == g) continue;
      const double x = ir::bits_to_double(b.dtype, w), y = ir::bits_to_double(b.dtype, g);
      if (dtype_is_float(b.dtype) && same(x, y)) continue;
      if (std::fabs(x - y) <= tolerance(c.program.parameters[i], b.dtype, x)) continue;
      return fmt::format("'{}' element {} is {}, not {}", b.name, at / width, y, x);
    }
  }
  return {};
}

}  // namespace tilert::random
