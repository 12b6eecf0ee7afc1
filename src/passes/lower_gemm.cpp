// Tile products of warps (mma.sync with ldmatrix where the tile allows it) and of single threads (multiply-add).
// Warpgroup products are in hopper_product.cpp.
#include <fmt/format.h>

#include "layout/fragment_builders.h"
#include "passes/element_wise.h"
#include "passes/layouts.h"
#include "passes/lower_sparse.h"
#include "passes/region.h"
#include "passes/select.h"
#include "passes/wave_product.h"

namespace tilert::passes {

using namespace ir;

namespace {

// The tile product's matrix dims of a region: the two dims that are not units (leading units are dropped).
struct Matrix {
  Region region;
  bool transposed;  // stored [column, row]

  std::vector<Expr> at(Arena& arena, Expr row, Expr column) const {
    std::vector<Expr> indices = region.offsets;
    const size_t n = indices.size();
    indices[n - 2] = arith::add(arena, indices[n - 2], transposed ? column : row);
    indices[n - 1] = arith::add(arena, indices[n - 1], transposed ? row : column);
    return indices;
  }
};

class GemmLowering {
 public:
  GemmLowering(Lower& low, const Stmt& stmt, const Gemm& gemm)
      : low_(low), gemm_(gemm), plan_(low.plan().gemms.at(stmt.ordinal)),
        a_{gemm.a, gemm.trans_a}, b_{gemm.b, gemm.trans_b}, c_{gemm.c, false} {}

  Status run() {
    const FragmentMap map = gemm_accumulator_map(plan_, low_.plan().threads, low_.context().target.warp_size);
    const bool direct = whole_fragment() && low_.fragment_map(gemm_.c.buffer) == map;
    BufferId c = gemm_.c.buffer;
    if (!direct) {
      TILERT_ASSIGN(c, load_operand(c_, low_.program().buffer(gemm_.c.buffer).dtype, map, plan_.m, plan_.n));
    }
    c_registers_ = low_.fragment_registers(c);
    clear_unless_accumulating(map);
    TILERT_TRY(plan_.path == GemmPlan::Path::fma ? fma(map) : mma());
    return direct ? Status() : store_back(c, map);
  }

 private:
  bool whole_fragment() const {
    const Buffer& b = low_.program().buffer(gemm_.c.buffer);
    if (b.scope != Scope::fragment || b.shape.size() != 2) return false;
    return b.shape[0]->as_int() == plan_.m && b.shape[1]->as_int() == plan_.n;
  }

  void clear_unless_accumulating(const FragmentMap& map) {
    if (!gemm_.accumulate) return;
    const Expr again = low_.simplify(gemm_.accumulate);
    if (again->is_constant() && again->bits) return;
    const DType dtype = low_.program().buffer(gemm_.c.buffer).dtype;
    low_.group(low_.comment("product, start from zero"), [&] {
      low_.when(low_.arena().make(Op::logical_not, {again}), [&] {
        low_.unrolled(map.registers(), [&](Expr r) { low_.store({c_registers_, {r}}, low_.arena().constant(dtype, 0)); });
      });
    });
  }

  Result<BufferId> load_operand(const Matrix& matrix, DType dtype, const FragmentMap& map, int64_t rows, int64_t columns) {
    return low_.operand_fragment(matrix.region.buffer, [&](Expr i, Expr j) { return matrix.at(low_.arena(), i, j); }, dtype, map, rows, columns);
  }

  Status store_back(BufferId c, const FragmentMap& map) {
    Program& program = low_.program();
    Parallel loop;
    for (int64_t extent : {plan_.m, plan_.n}) {
      loop.vars.push_back(program.add_var(VarKind::loop, DType::index, "i"));
      loop.extents.push_back(extent);
    }
    const Expr i = program.var(loop.vars[0]), j = program.var(loop.vars[1]);
    const VarId x = program.add_var(VarKind::let, program.buffer(c).dtype, "x");
    loop.body.push_back(make_stmt(Let{x, nullptr, {c, {i, j}}}));
    loop.body.push_back(make_stmt(Store{{gemm_.c.buffer, c_.at(low_.arena(), i, j)}, program.var(x)}));
    return ElementWise(low_, loop, map, low_.comment("product to its tile"), {}).run();
  }

  // ---- multiply-adds ----

  // The matrix where any thread can read any element: itself, or a fragment's copy in shared memory.
  Matrix readable(const Matrix& matrix) {
    const Buffer b = low_.program().buffer(matrix.region.buffer);
    if (b.scope != Scope::fragment) return matrix;
    int64_t elements = 1;
    for (Expr e : b.shape) elements *= e->as_int();
    const BufferId box = low_.scratch(b.dtype, elements, "operand");
    low_.spill(matrix.region.buffer, box);
    Matrix copy = matrix;
    spilled_[box] = matrix.region.buffer;
    copy.region.buffer = box;
    return copy;
  }

  Access element(const Matrix& matrix, Expr row, Expr column) {
    const auto indices = matrix.at(low_.arena(), row, column);
    const auto spilled = spilled_.find(matrix.region.buffer);
    return spilled == spilled_.end() ? low_.memory_access(matrix.region.buffer, indices)
                                     : low_.flat_access(matrix.region.buffer, spilled->second, indices);
  }

  Expr load_or_zero(const Matrix& matrix, Expr row, Expr column, Expr condition, DType to) {
    Arena& arena = low_.arena();
    const DType operand = operand_dtype(low_.program(), gemm_);
    const auto value = [&] { return arena.cast(arena.cast(low_.read(element(matrix, row, column), "x"), operand), to); };
    if (!condition) return value();
    const BufferId box = low_.scalar(to, "x");
    low_.store({box, {}}, arena.constant(to, 0));
    low_.when(condition, [&] { low_.store({box, {}}, value()); });
    return low_.read({box, {}}, "x");
  }

  Status fma(const FragmentMap& map) {
    Arena& arena = low_.arena();
    const Matrix a = readable(a_), b = readable(b_);
    const DType dtype = low_.program().buffer(gemm_.c.buffer).dtype;
    const FmaShape shape = fma_shape(plan_, low_.plan().threads);
    const auto padded = map.padded_shape();
    low_.group(low_.comment("product, multiply-add"), [&] {
      const BufferId rows = low_.registers(dtype, shape.rows, "a"), columns = low_.registers(dtype, shape.columns, "b");
      low_.serial(plan_.k, [&](Expr k) {
        low_.unrolled(shape.rows, [&](Expr i) {
          const Expr row = low_.coordinate(map, 0, arith::mul(arena, i, shape.columns));
          const Expr in = padded[0] > plan_.m ? arith::lt(arena, row, plan_.m) : nullptr;
          low_.store({rows, {i}}, load_or_zero(a, row, k, in, dtype));
        });
        low_.unrolled(shape.columns, [&](Expr j) {
          const Expr column = low_.coordinate(map, 1, j);
          const Expr in = padded[1] > plan_.n ? arith::lt(arena, column, plan_.n) : nullptr;
          low_.store({columns, {j}}, load_or_zero(b, k, column, in, dtype));
        });
        low_.unrolled(shape.rows, [&](Expr i) {
          low_.unrolled(shape.columns, [&](Expr j) {
            const Access at{c_registers_, {arith::add(arena, j, arith::mul(arena, i, shape.columns))}};
            const Expr x = low_.read({rows, {i}}, "x"), y = low_.read({columns, {j}}, "y"), z = low_.read(at, "z");
            const Expr sum = dtype_is_float(dtype) ? arena.make(Op::fma, {x, y, z})
                                                   : arena.make(Op::add, {arena.make(Op::mul, {x, y}), z});
            low_.store(at, sum);
          });
        });
      });
    });
    return {};
  }

  // ---- matrix instructions ----
  struct Operand {
    BufferId packed = kNoBuffer;  // 32-bit registers
    bool ldmatrix = false;
  };

  Status mma() {
    const Atom& atom = *plan_.atom;
    const WarpGrid grid{plan_.warps_m, plan_.warps_n, 1};
    counts_ = atom_counts(atom, plan_.m, plan_.n, plan_.k, grid);
    BufferId a_elements = kNoBuffer, b_elements = kNoBuffer;
    const bool through_tile = goes_through_tile(grid);
    if (through_tile) {
      TILERT_ASSIGN(a_.region, rows_in_tile(low_, a_.region.buffer, atom.a, plan_.m, plan_.k));
    }
    a_in_tile_ = plan_.a_ldmatrix || through_tile;
    if (!a_in_tile_) {
      TILERT_ASSIGN(a_elements, load_operand(a_, atom.a, a_operand_map(atom, plan_.m, plan_.k, grid), plan_.m, atom.sparse ? plan_.k / 2 : plan_.k));
    }
    if (!plan_.b_ldmatrix) {
      TILERT_ASSIGN(b_elements, load_operand(b_, atom.b, b_operand_map(atom, plan_.k, plan_.n, grid), plan_.k, plan_.n));
    }
    if (atom.a == DType::f64) {
      if (atom.m == 8) multiply_wide(a_elements, b_elements);
      else multiply_numbers(low_, atom, counts_, c_registers_, a_elements, b_elements);
      return {};
    }
    if (low_.context().target.is_hip()) {
      multiply_in_steps(a_elements, b_elements);
      return {};
    }
    const Matrix metadata = atom.sparse ? readable({gemm_.metadata, false}) : Matrix{};
    low_.group(low_.comment("product"), [&] {
      const BufferId a = low_.registers(DType::uint32, counts_.m * a_words(), "a"), b = low_.registers(DType::uint32, counts_.n * b_words(), "b");
      if (atom.sparse) metadata_ = low_.registers(DType::uint32, counts_.m, "metadata");
      low_.unrolled(counts_.k, [&](Expr kk) {
        if (atom.sparse) load_metadata(metadata, kk);
        if (plan_.a_ldmatrix) load_a(a, kk);
        else pack(a, low_.index(0), a_elements, kk, low_.index(0), counts_.m, a_words(), atom.a_registers());
        if (plan_.b_ldmatrix) load_b(b, kk);
        else pack(b, low_.index(0), b_elements, kk, low_.index(0), counts_.n, b_words(), atom.b_registers());
        multiply(a, b);
      });
    });
    return {};
  }

  // f64: an element is an operand's register, from a fragment, or read from its tile at each step.
  void multiply_wide(BufferId a_elements, BufferId b_elements) {
    Arena& arena = low_.arena();
    low_.group(low_.comment("product"), [&] {
      const BufferId a = low_.registers(DType::f64, counts_.m, "a"), b = low_.registers(DType::f64, counts_.n, "b");
      const Expr group = arith::floordiv(arena, lane(), 4), within = arith::mod(arena, lane(), 4);
      const Expr row = first_row(counts_.m * 8), column = first_column(counts_.n * 8);
      low_.unrolled(counts_.k, [&](Expr kk) {
        const Expr k = arith::add(arena, arith::mul(arena, kk, 4), within);
        const auto load = [&](BufferId to, BufferId elements, int64_t count, const std::function<std::vector<Expr>(Expr)>& place, BufferId tile) {
          low_.unrolled(count, [&](Expr i) {
            const Access from = elements == kNoBuffer ? low_.shared_access(tile, place(arith::add(arena, arith::mul(arena, i, 8), group)))
                                                      : Access{low_.fragment_registers(elements), {arith::add(arena, kk, arith::mul(arena, i, counts_.k))}};
            low_.store({to, {i}}, low_.read(from, "x"));
          });
        };
        load(a, a_elements, counts_.m, [&](Expr i) { return a_.at(arena, arith::add(arena, row, i), k); }, a_.region.buffer);
        load(b, b_elements, counts_.n, [&](Expr j) { return b_.at(arena, k, arith::add(arena, column, j)); }, b_.region.buffer);
        low_.unrolled(counts_.m, [&](Expr im) {
          low_.unrolled(counts_.n, [&](Expr in) {
            const Expr c = arith::mul(arena, arith::add(arena, in, arith::mul(arena, im, counts_.n)), 2);
            low_.call(Primitive::mma_m8n8k4_f64, {registers_arg(c_registers_, c, 2), registers_arg(a, im, 1), registers_arg(b, in, 1)});
          });
        });
      });
    });
  }

  // AMD: a fragment on the left whose elements other lanes need goes through shared memory as the instruction takes it: its type, K
  // together. Lanes then have one step of it at a time.
  bool goes_through_tile(const WarpGrid& grid) const {
    const Atom& atom = *plan_.atom;
    const Buffer& b = low_.program().buffer(a_.region.buffer);
    if (!low_.context().target.is_hip() || b.scope != Scope::fragment || a_.transposed || atom.a == DType::f64) return false;
    const bool exact = counts_.m * atom.m * grid.m == plan_.m && counts_.k * atom.k == plan_.k;
    return exact && is_whole(low_.program(), a_.region) && low_.fragment_map(a_.region.buffer) != a_operand_map(atom, plan_.m, plan_.k, grid);
  }

  // AMD: lanes read A's rows, or B's columns, themselves, where they are in tiles.
  void multiply_in_steps(BufferId a_elements, BufferId b_elements) {
    Arena& arena = low_.arena();
    const Atom& atom = *plan_.atom;
    const auto rows = [&](BufferId to, Expr start, Expr kk) {
      if (!a_in_tile_) return pack(to, start, a_elements, kk, low_.index(0), counts_.m, a_words(), atom.a_registers());
      const LaneOperand lines{a_.region, !a_.transposed, [&](Expr row, Expr k) { return a_.at(arena, row, k); }};
      load_lane_words(low_, atom, lines, to, start, kk, first_row(counts_.m * atom.m), counts_.m, atom.m);
    };
    const auto columns = [&](BufferId to, Expr start, Expr kk, Expr first, int64_t count) {
      if (!plan_.b_ldmatrix) return pack(to, start, b_elements, kk, first, count, b_words(), atom.b_registers());
      const LaneOperand lines{b_.region, b_.transposed, [&](Expr column, Expr k) { return b_.at(arena, k, column); }};
      const Expr column = arith::add(arena, first_column(counts_.n * atom.n), arith::mul(arena, first, atom.n));
      load_lane_words(low_, atom, lines, to, start, kk, column, count, atom.n);
    };
    low_.group(low_.comment("product"), [&] { WaveProduct{low_, atom, counts_, c_registers_, a_words(), b_words(), rows, columns}.run(); });
  }

  // 32-bit registers of an instruction's operands.
  int64_t a_words() const { return plan_.atom->a_registers() * dtype_bytes(plan_.atom->a) / 4; }
  int64_t b_words() const { return plan_.atom->b_registers() * dtype_bytes(plan_.atom->b) / 4; }
  CallArg sums_of(Expr im, Expr in) {
    const int64_t each = plan_.atom->c_registers();
    return registers_arg(c_registers_, arith::mul(low_.arena(), arith::add(low_.arena(), in, arith::mul(low_.arena(), im, counts_.n)), each), each);
  }

  void load_metadata(const Matrix& metadata, Expr kk) {
    const Expr base = first_row(counts_.m * plan_.atom->m);
    const auto element_at = [&](Expr row, Expr column) { return low_.read(element(metadata, row, column), "places"); };
    const SparsePlaces places{metadata.region, element_at, plan_.m, plan_.k};
    low_.unrolled(counts_.m, [&](Expr im) {
      const Expr row = arith::add(low_.arena(), base, arith::mul(low_.arena(), im, plan_.atom->m));
      low_.store({metadata_, {im}}, sparse_metadata(low_, *plan_.atom, places, row, kk, lane()));
    });
  }

  // Of this warp, in the tile.
  Expr first_row(int64_t rows) {
    return low_.let_preamble(arith::mul(low_.arena(), arith::mod(low_.arena(), warp(), plan_.warps_m), rows), "row");
  }
  Expr first_column(int64_t columns) {
    return low_.let_preamble(arith::mul(low_.arena(), arith::floordiv(low_.arena(), warp(), plan_.warps_m), columns), "column");
  }

  void multiply(BufferId a, BufferId b) {
    Arena& arena = low_.arena();
    const Primitive primitive = primitive_from_name(mma_primitive(*plan_.atom))->primitive;
    low_.unrolled(counts_.m, [&](Expr im) {
      low_.unrolled(counts_.n, [&](Expr in) {
        std::vector<CallArg> args{sums_of(im, in), registers_arg(a, arith::mul(arena, im, a_words()), a_words()),
                                  registers_arg(b, arith::mul(arena, in, b_words()), b_words())};
        if (plan_.atom->sparse) args.push_back(value_arg(low_.read({metadata_, {im}}, "metadata")));
        low_.call(primitive, std::move(args));
      });
    });
  }

  // Elements in operand order (atom's registers, then along K, then along M or N) of `count` instructions from `first` on to packed
  // registers of step kk.
  void pack(BufferId to, Expr start, BufferId fragment, Expr kk, Expr first, int64_t count, int64_t packed, int64_t elements) {
    Arena& arena = low_.arena();
    low_.unrolled(count, [&](Expr i) {
      const Expr from = arith::mul(arena, arith::add(arena, kk, arith::mul(arena, arith::add(arena, first, i), counts_.k)), elements);
      low_.call(packing_of(low_.program().buffer(fragment).dtype), {registers_arg(to, arith::add(arena, start, arith::mul(arena, i, packed)), packed),
                                                                          registers_arg(low_.fragment_registers(fragment), from, elements)});
    });
  }

  Expr lane() { return arith::mod(low_.arena(), low_.thread(), low_.context().target.warp_size); }
  Expr warp() { return arith::floordiv(low_.arena(), low_.thread(), low_.context().target.warp_size); }

  void load_a(BufferId to, Expr kk) {
    Arena& arena = low_.arena();
    const int64_t chunk = 16 / dtype_bytes(plan_.atom->a);
    const Expr base = first_row(counts_.m * plan_.atom->m);
    const Expr high = low_.let_preamble(arith::floordiv(arena, lane(), 16), "high");
    low_.unrolled(counts_.m, [&](Expr im) {
      const Expr block = arith::add(arena, base, arith::mul(arena, im, plan_.atom->m));
      const Expr k0 = arith::mul(arena, kk, plan_.atom->a_k());
      Expr row, k;
      if (!a_.transposed) {
        row = arith::add(arena, block, arith::mod(arena, lane(), 16));
        k = arith::add(arena, k0, arith::mul(arena, high, chunk));
      } else {
        row = arith::add(arena, block, arith::mul(arena, arith::mod(arena, arith::floordiv(arena, lane(), 8), 2), 8));
        k = arith::add(arena, k0, arith::add(arena, arith::mul(arena, high, 8), arith::mod(arena, lane(), 8)));
      }
      low_.call(a_.transposed ? Primitive::ldmatrix_x4_trans : Primitive::ldmatrix_x4,
                {registers_arg(to, arith::mul(arena, im, 4), 4), address_arg(low_.shared_access(a_.region.buffer, a_.at(arena, row, k)))});
    });
  }

  void load_b(BufferId to, Expr kk) {
    if (plan_.atom->sparse) return low_.unrolled(counts_.n, [&](Expr in) { load_deep_columns(to, kk, in); });
    const int64_t pairs = counts_.n / 2;
    low_.unrolled(pairs, [&](Expr p) { load_b_columns(to, kk, arith::mul(low_.arena(), p, 2), true); });
    if (counts_.n % 2) load_b_columns(to, kk, low_.index(counts_.n - 1), false);
  }

  void load_b_columns(BufferId to, Expr kk, Expr in, bool two) {
    Arena& arena = low_.arena();
    const int64_t chunk = 16 / dtype_bytes(plan_.atom->b);
    const Expr base = first_column(counts_.n * plan_.atom->n);
    const Expr block = arith::add(arena, base, arith::mul(arena, in, plan_.atom->n));
    const Expr k0 = arith::mul(arena, kk, plan_.atom->k);
    const Expr high = two ? arith::mul(arena, arith::floordiv(arena, lane(), 16), 8) : low_.index(0);
    const Expr middle = arith::mod(arena, arith::floordiv(arena, lane(), 8), 2);
    Expr k, column;
    if (b_.transposed) {
      column = arith::add(arena, block, arith::add(arena, high, arith::mod(arena, lane(), 8)));
      k = arith::add(arena, k0, arith::mul(arena, middle, chunk));
    } else {
      column = arith::add(arena, block, high);
      k = arith::add(arena, k0, arith::add(arena, arith::mul(arena, middle, 8), arith::mod(arena, lane(), 8)));
    }
    const Primitive primitive = b_.transposed ? (two ? Primitive::ldmatrix_x4 : Primitive::ldmatrix_x2)
                                              : (two ? Primitive::ldmatrix_x4_trans : Primitive::ldmatrix_x2_trans);
    low_.call(primitive, {registers_arg(to, arith::mul(arena, in, 2), two ? 4 : 2),
                          address_arg(low_.shared_access(b_.region.buffer, b_.at(arena, k, column)))});
  }

  // Of a sparse product, which is twice as deep: one matrix after the other along K.
  void load_deep_columns(BufferId to, Expr kk, Expr in) {
    Arena& arena = low_.arena();
    const Expr block = arith::add(arena, first_column(counts_.n * plan_.atom->n), arith::mul(arena, in, plan_.atom->n));
    Expr column = block, k = arith::mul(arena, kk, plan_.atom->k);
    if (b_.transposed) {
      column = arith::add(arena, block, arith::mod(arena, lane(), 8));
      k = arith::add(arena, k, arith::mul(arena, arith::floordiv(arena, lane(), 8), 16 / dtype_bytes(plan_.atom->b)));
    } else {
      k = arith::add(arena, k, lane());
    }
    low_.call(b_.transposed ? Primitive::ldmatrix_x4 : Primitive::ldmatrix_x4_trans,
              {registers_arg(to, arith::mul(arena, in, 4), 4), address_arg(low_.shared_access(b_.region.buffer, b_.at(arena, k, column)))});
  }

  Lower& low_;
  const Gemm& gemm_;
  const GemmPlan& plan_;
  Matrix a_, b_, c_;
  AtomCounts counts_;
  bool a_in_tile_ = false;
  BufferId c_registers_ = kNoBuffer, metadata_ = kNoBuffer;
  std::map<BufferId, BufferId> spilled_;
};

}  // namespace

Status Lower::gemm(const Stmt& stmt, const Gemm& gemm) { return GemmLowering(*this, stmt, gemm).run(); }

}  // namespace tilert::passes
