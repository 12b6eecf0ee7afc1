// The judge: three interpretations of a case.
#include "random/judge.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "conformance/numbers.h"
#include "ir/evaluate.h"
#include "ir/semantics.h"
#include "ir/verifier.h"
#include "ir/visit.h"

namespace tilert::random {
namespace {

using ir::Expr;
using ir::Op;

// Blocks in the opposite order; those whose number memory tells are the first of the grid, whatever their order.
ir::Program reversed(const ir::Program& program) {
  ir::Program p = ir::clone(program);
  for (ir::Kernel& k : p.kernels) {
    if (k.tile_count != ir::kNoBuffer) continue;
    std::unordered_map<ir::VarId, Expr> values;
    for (size_t d = 0; d < k.grid.size(); ++d)
      values[k.block_vars[d]] =
          p.arena->make(Op::sub, {p.arena->make(Op::sub, {k.grid[d], p.arena->index(1)}), p.var(k.block_vars[d])});
    k.body = ir::map_block_exprs(k.body, [&](Expr e) { return ir::substitute(*p.arena, e, values); });
  }
  return p;
}

// Types that are stored only saturate, which is part of their meaning: they stay.
bool widens(DType dtype) { return dtype_is_float(dtype) && dtype_computes(dtype); }
DType wide(DType dtype) { return widens(dtype) ? DType::f64 : dtype; }

// Every float that is computed with as f64; nothing where bits of a float are looked at.
std::optional<ir::Program> widened(const ir::Program& program) {
  ir::Program p = ir::clone(program);
  bool looks_at_bits = false;
  const auto node = [&](Expr e) -> Expr {
    if (e->is_variable()) return p.arena->variable(e->var(), wide(e->dtype));
    if (e->op == Op::reinterpret) looks_at_bits |= widens(e->operand[0]->dtype) || widens(e->dtype);
    if (e->is_constant() && widens(e->dtype) && e->dtype != DType::f64)
      return p.arena->constant(DType::f64, ir::double_to_bits(DType::f64, ir::bits_to_double(e->dtype, e->bits)));
    if (e->op == Op::cast && widens(e->dtype)) return p.arena->cast(e->operand[0], DType::f64);
    return e;
  };
  for (ir::Kernel& k : p.kernels) {
    k.body = ir::map_block_exprs(k.body, [&](Expr e) { return ir::rewrite_expr(*p.arena, e, node); });
  }
  for (ir::Var& v : p.vars) v.dtype = wide(v.dtype);
  for (ir::Buffer& b : p.buffers) b.dtype = wide(b.dtype);
  for (ir::Kernel& k : p.kernels)
    k.body = ir::rewrite_block(k.body, [&](const ir::StmtPtr& s) -> ir::Block {
      const auto* product = std::get_if<ir::Gemm>(&s->node);
      if (!product) return {s};
      ir::Gemm wider = *product;
      wider.tf32 = false;
      // Operands that are stored only would still be multiplied in a narrow type.
      looks_at_bits |= !ir::gemm_takes(ir::gemm_operand_dtype(p, wider), p.buffer(wider.c.buffer).dtype);
      return {ir::make_stmt(std::move(wider), s->ordinal, s->location)};
    });
  return looks_at_bits ? std::nullopt : std::optional(std::move(p));
}

Outputs widened_data(const Case& c) {
  Outputs out = make_data(c);
  for (size_t i = 0; i < out.size(); ++i) {
    const ir::Parameter& parameter = c.program.parameters[i];
    const bool scalar = parameter.kind == ir::Parameter::Kind::scalar;
    const DType dtype = scalar ? c.program.vars[parameter.var].dtype : c.program.buffer(parameter.buffer).dtype;
    if (!widens(dtype)) continue;
    const int64_t count = scalar ? 1 : elements_in(dtype, out[i]);
    Bytes wider(static_cast<size_t>(count) * 8);
    for (int64_t e = 0; e < count; ++e)
      put_element(DType::f64, wider, e, ir::double_to_bits(DType::f64, ir::bits_to_double(dtype, element_at(dtype, out[i], e))));
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
    for (int64_t e = 0; e < elements_in(b.dtype, want[i]); ++e) {
      const double w = ir::bits_to_double(b.dtype, element_at(b.dtype, want[i], e));
      const double g = ir::bits_to_double(wide(b.dtype), element_at(wide(b.dtype), got[i], e));
      if (!same(w, g))
        return make_error(Code::kInvalidProgram, "'{}' element {} is rounded: {} instead of {}", b.name, e, w, g);
    }
  }
  return {};
}

std::vector<void*> pointers(const Entries& entries, DType dtype, Bytes& bytes) {
  std::vector<void*> out;
  for (const bool there : entries.there)
    out.push_back(there ? bytes.data() + bytes_for(dtype, entries.room) * out.size() : nullptr);
  return out;
}

}  // namespace

Result<Outputs> interpret(const Case& c, const ir::Program& program, Outputs data, ir::Reports* reports) {
  ir::HostArguments arguments;
  arguments.dims = c.dims;
  std::vector<std::vector<void*>> tables;
  const std::vector<int> memory = shared_memory(c);
  for (size_t i = 0; i < data.size(); ++i) {
    ir::HostArgument a;
    Bytes& bytes = data[memory[i] < 0 ? i : static_cast<size_t>(memory[i])];
    a.data = bytes.data();
    a.bytes = static_cast<int64_t>(bytes.size());
    if (program.parameters[i].kind == ir::Parameter::Kind::scalar) {
      a.scalar = ir::load_element(DType::int64, data[i].data());
    } else if (const ir::Buffer& b = c.program.buffer(c.program.parameters[i].buffer); ir::is_table(b)) {
      tables.push_back(pointers(entries_of(c, b), program.buffer(program.parameters[i].buffer).dtype, bytes));
      a.data = tables.back().data();
      a.bytes = static_cast<int64_t>(tables.back().size() * sizeof(void*));
    }
    arguments.parameters.push_back(std::move(a));
  }
  ir::InterpretOptions options;
  options.max_statements = &program == &c.program ? int64_t{1} << 26 : int64_t{1} << 30;  // lowered, each lane counts
  options.reports = reports;
  TILERT_TRY(ir::interpret(program, arguments, options));
  for (size_t i = 0; i < data.size(); ++i)
    if (memory[i] >= 0) data[i] = data[static_cast<size_t>(memory[i])];
  return data;
}

// By bytes where elements have their own: a bool that is none reads as true.
static bool same_element(DType dtype, const Bytes& a, const Bytes& b, int64_t i) {
  if (dtype_is_packed(dtype)) return element_at(dtype, a, i) == element_at(dtype, b, i);
  const int64_t width = dtype_bytes(dtype);
  return std::equal(a.begin() + i * width, a.begin() + (i + 1) * width, b.begin() + i * width);
}

std::vector<std::vector<bool>> kept(const Case& c, const Outputs& want) {
  const Outputs data = make_data(c);
  std::vector<std::vector<bool>> out(want.size());
  bool sure = true;
  for (size_t i = 0; i < want.size(); ++i) {
    const ir::Parameter& parameter = c.program.parameters[i];
    if (parameter.kind == ir::Parameter::Kind::scalar) continue;
    const ir::Buffer& b = c.program.buffer(parameter.buffer);
    for (int64_t e = 0; e < elements_in(b.dtype, want[i]); ++e)
      out[i].push_back(b.direction == ir::Direction::out && same_element(b.dtype, want[i], data[i], e));
    sure &= dtype_bits(b.dtype) > 16 || widens(b.dtype) || std::find(out[i].begin(), out[i].end(), true) == out[i].end();
  }
  if (sure) return out;
  const Outputs other = make_data(c, true);
  const FloatEnvironment environment;
  const Result<Outputs> again = interpret(c, c.program, other);
  for (size_t i = 0; again && i < want.size(); ++i)
    for (size_t e = 0; e < out[i].size(); ++e) {
      const DType dtype = c.program.buffer(c.program.parameters[i].buffer).dtype;
      const auto at = static_cast<int64_t>(e);
      out[i][e] = out[i][e] && same_element(dtype, (*again)[i], other[i], at);
    }
  return out;
}

Result<Outputs> reference(const Case& c) {
  TILERT_TRY(ir::verify(c.program));
  const FloatEnvironment environment;
  return interpret(c, c.program, make_data(c));
}

std::vector<std::string> told(const Case& c) {
  if (!ir::has_reports(c.program)) return {};
  ir::Reports reports;
  reports.most = SIZE_MAX;
  const FloatEnvironment environment;
  if (!interpret(c, c.program, make_data(c), &reports)) return {};
  std::vector<std::string> out;
  for (const ir::Reports::Entry& e : reports.entries) {
    const auto& report = std::get<ir::Report>(e.stmt->node);
    const uint32_t* const at = e.entry.block;
    const std::string what = (report.failed ? "assertion failed: " : "") + ir::report_text(report, e.entry.values);
    out.push_back(fmt::format("[{}, {}, {}] {}", at[0], at[1], at[2], what));
  }
  std::sort(out.begin(), out.end());
  return out;
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
    for (int64_t at = 0; at < elements_in(b.dtype, want[i]); ++at) {
      const uint64_t w = element_at(b.dtype, want[i], at), g = element_at(b.dtype, got[i], at);
      if (w == g) continue;
      const double x = ir::bits_to_double(b.dtype, w), y = ir::bits_to_double(b.dtype, g);
      if (dtype_is_float(b.dtype) && same(x, y)) continue;
      if (std::fabs(x - y) <= tolerance(c.program.parameters[i], b.dtype, x)) continue;
      return fmt::format("'{}' element {} is {}, not {}", b.name, at, y, x);
    }
  }
  return {};
}

}  // namespace tilert::random
