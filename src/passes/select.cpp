// Instruction, warp grid and thread count of each kernel. Heuristics read the target row and the program, nothing else.
#include "passes/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/semantics.h"
#include "ir/visit.h"
#include "passes/hints.h"
#include "passes/lower.h"
#include "support/refusal.h"

namespace tilert::passes {
namespace {

using namespace ir;

struct Product {
  const Stmt* stmt;
  const Gemm* gemm;
};

std::vector<Product> products(const Kernel& kernel) {
  std::vector<Product> all;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* g = std::get_if<Gemm>(&s.node)) all.push_back({&s, g});
  });
  return all;
}

// 32-bit registers that the fragments of rank 2 take in a block; what lives at once is at most this.
int64_t fragment_words(const Program& program, const Kernel& kernel) {
  int64_t words = 0;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* a = std::get_if<Alloc>(&s.node);
    if (!a || program.buffer(a->buffer).scope != Scope::fragment) return;
    int64_t elements = 1;
    for (Expr e : program.buffer(a->buffer).shape) elements *= e->as_int();
    words += elements * dtype_bits(program.buffer(a->buffer).dtype) / 32;
  });
  return words;
}

// Warps that a product whose rows stay whole can use: one per 16 rows.
int64_t most_row_warps(const Kernel& kernel, const std::vector<Product>& all);

// Warps that reductions of rows can use without meeting in shared memory: one for each row, where there are several.
int64_t most_line_warps(const Program& program, const Kernel& kernel) {
  int64_t warps = 32;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* r = std::get_if<Reduce>(&s.node);
    if (!r || program.buffer(r->src.buffer).scope != Scope::fragment || r->dim + 1 != static_cast<int>(r->src.extents.size())) return;
    int64_t lines = 1;
    for (size_t d = 0; d + 1 < r->src.extents.size(); ++d) lines *= r->src.extents[d];
    if (lines > 1) warps = std::min(warps, lines);
  });
  return warps;
}

int recommend_threads(const Program& program, const Kernel& kernel, const std::vector<Product>& all, const Target& target) {
  const bool has_products = !all.empty();
  const int64_t words = fragment_words(program, kernel);
  // Operands of f64 take twice the registers too. Without products more rows on a multiprocessor hide more than more threads
  // to a row.
  const bool wide = std::any_of(all.begin(), all.end(), [&](const Product& p) { return program.buffer(p.gemm->c.buffer).dtype == DType::f64; });
  // A lane of RDNA has more of the operands, and 256 registers in all.
  const bool rdna = target.is_hip() && target.warp_size == 32;
  const int64_t per_thread = !has_products ? 40 : rdna ? 64 : wide ? 96 : 128;
  const int most = has_products && !rdna ? 256 : 512;
  const int64_t row_warps = has_products ? most_row_warps(kernel, all) : most_line_warps(program, kernel);
  int threads = 128;
  while (threads < most && words > per_thread * threads) {
    // Rows apart are worth twice the registers.
    if (threads * 2 > target.warp_size * row_warps && (has_products || words <= 2 * per_thread * threads)) break;
    threads *= 2;
  }
  return threads;
}

bool operand_by_ldmatrix(const Program& program, const Region& region, DType operand, bool k_major) {
  const Buffer& b = program.buffer(region.buffer);
  if (b.scope != Scope::shared || b.dtype != operand) return false;
  if (operand == DType::f64) return true;
  if (dtype_bits(operand) != 16 && !k_major) return false;  // transposing loads move 16-bit elements
  const int64_t chunk = 16 / dtype_bytes(operand);
  const Expr offset = region.offsets.back();
  if (b.layout.kind == TileLayout::custom) {
    const auto places = layout_places(program, b);
    std::vector<int64_t> shape;
    for (Expr e : b.shape) shape.push_back(e->as_int());
    if (!places || AddressMap::custom(shape, dtype_bytes(b.dtype), *places).vector_width(static_cast<int>(shape.size()) - 1) < chunk) return false;
  }
  return b.shape.back()->as_int() % chunk == 0 && region.extents.back() % chunk == 0 && offset->is_constant() && offset->as_int() % chunk == 0;
}

// AMD: tiles of these are read in steps too, and widened on the way (passes/wave_widen).
bool widens_in_steps(DType own, DType to) {
  return (own == DType::e4m3 || own == DType::e5m2) && (to == DType::f16 || to == DType::bf16);
}

// AMD: lanes read their elements of a step from the tile themselves.
bool operand_in_steps(const Program& program, const Region& region, DType operand) {
  const Buffer& b = program.buffer(region.buffer);
  return b.scope == Scope::shared && (b.dtype == operand || widens_in_steps(b.dtype, operand)) && operand != DType::f64 && !is_packed(program, region.buffer);
}

bool has_f16_subnormals(DType type) { return type == DType::e5m2 || type == DType::e5m2fnuz; }

// AMD: what both operands are of in the unit. 8-bit types as they are where it has them; else what they all become, and that is
// bf16 where it would take the subnormal numbers of f16 for zeros.
std::vector<const Atom*> wave_atoms(const Program& program, const Gemm& gemm, const Target& target) {
  const DType a = program.buffer(gemm.a.buffer).dtype, b = program.buffer(gemm.b.buffer).dtype, sum = program.buffer(gemm.c.buffer).dtype;
  DType operand = operand_dtype(program, gemm);
  if (dtype_bits(a) == 8 && dtype_bits(b) == 8) {
    if (auto own = atoms_for(target, a, b, sum); !own.empty()) return own;
  }
  const bool narrow = dtype_bits(a) <= 8 && dtype_bits(b) <= 8;
  if (narrow && (has_f16_subnormals(a) || has_f16_subnormals(b)) && target.has(Feature::flushes_products)) operand = DType::bf16;
  return atoms_for(target, operand, operand, sum);
}

// AMD: registers of a lane that sums, a step's rows and two instructions' columns (wave_product.h) lack.
double registers_lacking(const Atom& atom, const AtomCounts& counts, int warps, const Target& target) {
  if (!target.is_hip()) return 0;
  constexpr int64_t kOthers = 40;  // copies that run ahead, places
  const int64_t each = atom.a_registers() * dtype_bytes(atom.a) / 4, sums = counts.m * counts.n * atom.c_registers() * dtype_bytes(atom.c) / 4;
  const int64_t room = std::min(target.max_registers_per_thread, target.registers_per_sm / (warps * target.warp_size));
  return static_cast<double>(std::max<int64_t>(sums + (counts.m + 2) * each + kOthers - room, 0));
}

// Rows to warps while a warp keeps at least one atom; a product whose left side is a fragment, or whose result is reduced
// along rows later, keeps whole rows in a warp.
WarpGrid warp_grid(const Program& program, const Gemm& gemm, const Atom& atom, const GemmPlan& plan, int warps, bool rows_only, const Target& target) {
  const bool a_fragment = program.buffer(gemm.a.buffer).scope == Scope::fragment;
  WarpGrid best{warps, 1, 1};
  double best_cost = 1e30;
  for (int64_t m = 1; m <= warps; ++m) {
    if (warps % m != 0) continue;  // every warp has a part
    const WarpGrid grid{m, warps / m, 1};
    if (gemm.split == WarpSplit::rows && grid.n != 1) continue;
    if (gemm.split == WarpSplit::columns && grid.m != 1) continue;
    const AtomCounts counts = atom_counts(atom, plan.m, plan.n, plan.k, grid);
    const double padded = static_cast<double>(counts.m * atom.m * grid.m * counts.n * atom.n * grid.n);
    // Shared memory traffic of a warp per product, and work on padding; fragments on the left must not be split apart.
    double cost = static_cast<double>(counts.m * atom.m + counts.n * atom.n) / static_cast<double>(counts.m * counts.n) +
                  16 * (padded / static_cast<double>(plan.m * plan.n) - 1);
    cost += registers_lacking(atom, counts, warps, target);
    if ((a_fragment || rows_only) && grid.n != 1 && gemm.split == WarpSplit::automatic) cost += 1000;
    if (cost < best_cost) {
      best_cost = cost;
      best = grid;
    }
  }
  return best;
}

// Results that are reduced along their columns, or feed another product from registers, want whole rows in a warp.
bool wants_rows(const Kernel& kernel, const Gemm& gemm) {
  bool wants = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    if (const auto* r = std::get_if<Reduce>(&s.node)) wants |= r->dim == 1;
    if (const auto* other = std::get_if<Gemm>(&s.node)) wants |= other != &gemm && other->a.buffer == gemm.c.buffer;
  });
  return wants;
}

int64_t most_row_warps(const Kernel& kernel, const std::vector<Product>& all) {
  int64_t warps = 32;
  for (const Product& p : all)
    if (wants_rows(kernel, *p.gemm)) warps = std::min(warps, std::max<int64_t>(matrix_extents(p.gemm->c).first / 16, 4));
  return warps;
}

bool exact(const AtomCounts& counts, const Atom& atom, const WarpGrid& grid, const GemmPlan& plan) {
  return counts.m * atom.m * grid.m == plan.m && counts.n * atom.n * grid.n == plan.n && counts.k * atom.k == plan.k;
}

// Multiply-adds that the instructions make, padding included.
double padded_work(const Program& program, const Kernel& kernel, const Gemm& gemm, const Atom& atom, const GemmPlan& plan, int warps, const Target& target) {
  const WarpGrid grid = warp_grid(program, gemm, atom, plan, warps, wants_rows(kernel, gemm), target);
  const AtomCounts counts = atom_counts(atom, plan.m, plan.n, plan.k, grid);
  return static_cast<double>(counts.m * atom.m * grid.m) * static_cast<double>(counts.n * atom.n * grid.n) * static_cast<double>(counts.k * atom.k);
}

Result<GemmPlan> plan_gemm(const Program& program, const Kernel& kernel, const Product& product, int threads,
                           const PassContext& context) {
  const Gemm& gemm = *product.gemm;
  GemmPlan plan;
  const auto [a0, a1] = matrix_extents(gemm.a);
  const auto [m, n] = matrix_extents(gemm.c);
  plan.m = m;
  plan.n = n;
  plan.k = gemm.trans_a ? a0 : gemm.sparse() ? 2 * a1 : a1;
  const DType operand = operand_dtype(program, gemm), result = program.buffer(gemm.c.buffer).dtype;
  const int warps = threads / context.target.warp_size;
  double least = 0;
  const bool by_lanes = context.target.is_hip() && !gemm.sparse();
  for (const Atom* atom : by_lanes ? wave_atoms(program, gemm, context.target) : atoms_for(context.target, operand, operand, result, gemm.sparse())) {
    if (atom->is_wgmma() || !primitive_from_name(mma_primitive(*atom)) || threads % context.target.warp_size != 0) continue;
    // AMD's come in two sizes: the one with less padding, else the larger.
    const double padded = context.target.is_hip() ? padded_work(program, kernel, gemm, *atom, plan, warps, context.target) : 0;
    if (plan.atom && (padded > least || (padded == least && atom->m <= plan.atom->m))) continue;
    plan.path = GemmPlan::Path::mma;
    plan.atom = atom;
    least = padded;
    if (!context.target.is_hip()) break;
  }
  if (plan.path == GemmPlan::Path::fma && gemm.sparse())
    return make_error(Code::kInternal, "operation {}: a sparse product that no instruction takes is left", product.stmt->ordinal);
  if (plan.path == GemmPlan::Path::fma) {
    plan.reason = fmt::format("{} has no matrix instruction of {} into {}", context.target.text, dtype_text(operand), dtype_text(result));
    return plan;
  }
  const WarpGrid grid = warp_grid(program, gemm, *plan.atom, plan, warps, wants_rows(kernel, gemm), context.target);
  plan.warps_m = static_cast<int>(grid.m);
  plan.warps_n = static_cast<int>(grid.n);
  const bool fits = exact(atom_counts(*plan.atom, m, n, plan.k, grid), *plan.atom, grid, plan);
  if (context.target.is_hip()) {
    plan.a_ldmatrix = fits && operand_in_steps(program, gemm.a, plan.atom->a);
    plan.b_ldmatrix = fits && operand_in_steps(program, gemm.b, plan.atom->b);
    return plan;
  }
  plan.a_ldmatrix = fits && operand_by_ldmatrix(program, gemm.a, operand, !gemm.trans_a);
  plan.b_ldmatrix = fits && operand_by_ldmatrix(program, gemm.b, operand, gemm.trans_b);
  return plan;
}

}  // namespace

DType operand_dtype(const Program& program, const Gemm& gemm) {
  return gemm_operand_dtype(program, gemm);
}

std::pair<int64_t, int64_t> matrix_extents(const Region& region) {
  const size_t rank = region.extents.size();
  return {region.extents[rank - 2], region.extents[rank - 1]};
}

std::string mma_primitive(const Atom& atom) { return std::string(atom.name); }

const Atom* warpgroup_atom(const Program& program, const Gemm& g, const Target& target) {
  const auto type = [&](BufferId id) {
    const DType own = program.buffer(id).dtype;
    return g.tf32 ? (own == DType::f32 ? DType::tf32 : DType::none) : own;
  };
  for (const Atom* atom : atoms_for(target, type(g.a.buffer), type(g.b.buffer), program.buffer(g.c.buffer).dtype, g.sparse()))
    if (atom->is_wgmma()) return atom;
  return nullptr;
}

FmaShape fma_shape(const GemmPlan& plan, int threads) {
  FmaShape shape;
  shape.thread_columns = 1;
  while (shape.thread_columns < 16 && shape.thread_columns < plan.n) shape.thread_columns *= 2;
  shape.thread_rows = threads / shape.thread_columns;
  shape.rows = (plan.m + shape.thread_rows - 1) / shape.thread_rows;
  shape.columns = (plan.n + shape.thread_columns - 1) / shape.thread_columns;
  return shape;
}

FragmentMap gemm_accumulator_map(const GemmPlan& plan, int threads, int warp_size) {
  if (plan.path == GemmPlan::Path::fma) {
    const FmaShape s = fma_shape(plan, threads);
    const int64_t lane_rows = warp_size / s.thread_columns;
    return FragmentMap({plan.m, plan.n}, {{Place::register_, s.columns, 1, s.thread_columns},
                                          {Place::register_, s.rows, 0, s.thread_rows},
                                          {Place::lane, s.thread_columns, 1, 1},
                                          {Place::lane, lane_rows, 0, 1},
                                          {Place::warp, threads / warp_size, 0, lane_rows}});
  }
  return accumulator_map(*plan.atom, plan.m, plan.n, WarpGrid{plan.warps_m, plan.warps_n, 1});
}

Result<Module> select(Module module, const PassContext& context) {
  for (size_t k = 0; k < module.program.kernels.size(); ++k) {
    const Kernel& kernel = module.program.kernels[k];
    KernelPlan& plan = module.plans[k];
    const auto all = products(kernel);
    const int64_t fixed = hint_of(kernel, HintKind::threads_fixed), asked = fixed ? fixed : hint_of(kernel, HintKind::threads);
    plan.threads = asked > 0 ? static_cast<int>(asked) : recommend_threads(module.program, kernel, all, context.target);
    // A hint in warps of 32 is followed by whole waves.
    if (!fixed && plan.threads % 32 == 0) plan.threads = (plan.threads + context.target.warp_size - 1) / context.target.warp_size * context.target.warp_size;
    if (plan.threads % context.target.warp_size != 0 || plan.threads > context.target.max_threads_per_block)
      return refusal(fmt::format("kernel '{}': {} threads a block", kernel.name, plan.threads),
                     fmt::format("{} takes multiples of {} up to {}", context.target.text, context.target.warp_size,
                                 context.target.max_threads_per_block));
    TILERT_TRY(check_barriers(module.program, kernel, context.target));
    TILERT_TRY(plan_products(module.program, kernel, plan, context));
  }
  return module;
}

Status plan_products(const Program& program, const Kernel& kernel, KernelPlan& plan, const PassContext& context) {
  for (const Product& product : products(kernel)) {
    TILERT_ASSIGN(GemmPlan gemm, plan_gemm(program, kernel, product, plan.threads, context));
    plan.gemms[product.stmt->ordinal] = gemm;
  }
  return {};
}

}  // namespace tilert::passes
