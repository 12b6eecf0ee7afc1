// Lowered statements: moves and the primitives of device/*, each for all lanes at once. Barriers, fences, commits and
// waits mean nothing here: an asynchronous copy lands at once.
#include <charconv>
#include <cmath>
#include <cstring>

#include "ir/interpreter_impl.h"

namespace tilert::ir::interp {
namespace {

constexpr uint32_t kWarp = 32;

double input_value(DType dtype, const uint8_t* at) { return bits_to_double(dtype, load_element(dtype, at)); }

}  // namespace

bool Machine::get_bytes(const Place& p, uint32_t lane, int64_t count, uint8_t* out) {
  int64_t element;
  if (!span(p, lane, count, element)) return false;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value;
    if (!read_at(*p.memory, element + i, lane, value)) return false;
    store_element(p.memory->dtype, out + i * p.memory->bytes, value);
  }
  return true;
}

bool Machine::put_bytes(const Place& p, uint32_t lane, int64_t count, const uint8_t* in) {
  int64_t element;
  if (!span(p, lane, count, element)) return false;
  for (int64_t i = 0; i < count; ++i)
    if (!write_at(*p.memory, element + i, lane, load_element(p.memory->dtype, in + i * p.memory->bytes))) return false;
  return true;
}

bool Machine::step(const Operation& op, const Move& n, const Lanes& lanes) {
  const Place &dst = op.p[0], &src = op.p[1];
  if (dst.memory->dtype != src.memory->dtype || n.count < 1 || n.count > 1024)
    return fail("a move is malformed: it changes the dtype, or its count is none", Code::kInternal);
  std::vector<uint8_t> held(static_cast<size_t>(n.count * src.memory->bytes));
  for (uint32_t l : lanes)
    if (!get_bytes(src, l, n.count, held.data()) || !put_bytes(dst, l, n.count, held.data())) return false;
  return true;
}

bool Machine::whole_warps(const Lanes& lanes) {
  bool whole = lanes.size() % kWarp == 0;
  for (size_t i = 0; whole && i < lanes.size(); ++i) whole = lanes[i] == lanes[i / kWarp * kWarp] + i % kWarp;
  return whole || fail("a collective of a warp is called by a part of its lanes", Code::kInternal);
}

bool Machine::step(const Operation& op, const ir::Call& n, const Lanes& lanes) {
  const PrimitiveRow& row = primitive_row(n.primitive);
  if (op.arguments.size() != row.arguments.size())
    return fail(fmt::format("{} takes {} arguments, {} are given", row.name, row.arguments.size(), op.arguments.size()),
                Code::kInternal);
  if (n.primitive == Primitive::grid_barrier) return meet();
  if (row.kind == "barrier" || row.kind == "commit" || row.kind == "wait") return true;
  switch (n.primitive) {
    case Primitive::warp_sync:
    case Primitive::fence:
    case Primitive::launch_dependents:
    case Primitive::proxy_fence:
    case Primitive::mbarrier_init:
    case Primitive::mbarrier_init_fence:
    case Primitive::mbarrier_expect:
    case Primitive::mbarrier_arrive:
    case Primitive::mbarrier_free_cluster:
    case Primitive::cluster_arrive:
    case Primitive::wgmma_fence:
    case Primitive::wgmma_hold:
    case Primitive::wgmma_hold_words:
    case Primitive::setmaxnreg_inc:
    case Primitive::setmaxnreg_dec: return true;
    case Primitive::cp_async: return call_cp_async(op, n, 1, lanes);
    case Primitive::cp_async_hinted: return call_cp_async(op, n, 2, lanes);
    case Primitive::load_hinted: return call_move(op, 1, 2, lanes);
    case Primitive::store_hinted: return call_move(op, 1, 2, lanes);
    case Primitive::ldmatrix_x1: return call_ldmatrix(op, 1, false, lanes);
    case Primitive::ldmatrix_x2: return call_ldmatrix(op, 2, false, lanes);
    case Primitive::ldmatrix_x4: return call_ldmatrix(op, 4, false, lanes);
    case Primitive::ldmatrix_x1_trans: return call_ldmatrix(op, 1, true, lanes);
    case Primitive::ldmatrix_x2_trans: return call_ldmatrix(op, 2, true, lanes);
    case Primitive::ldmatrix_x4_trans: return call_ldmatrix(op, 4, true, lanes);
    case Primitive::stmatrix_x4: return call_stmatrix(op, 4, lanes);
    case Primitive::mma_m16n8k16_f16_by_8:
    case Primitive::mma_m16n8k16_f16: return call_mma(op, DType::f16, 2, lanes);
    case Primitive::mma_m16n8k16_bf16: return call_mma(op, DType::bf16, 2, lanes);
    case Primitive::mma_m16n8k32_s8_by_16:
    case Primitive::mma_m16n8k32_s8: return call_mma(op, DType::int8, 4, lanes);
    case Primitive::mma_m8n8k4_f64: return call_mma_f64(op, lanes);
    case Primitive::mma_m16n8k8_tf32: return call_mma(op, DType::tf32, 1, lanes);
    case Primitive::pack_words:
    case Primitive::pack_regs: return call_pack(op, lanes);
    case Primitive::cast_pack: return call_cast_pack(op, n, lanes);
    case Primitive::store_packed: return call_store_packed(op, lanes);
    case Primitive::shuffle_xor: return call_shuffle(op, true, lanes);
    case Primitive::shuffle_lane: return call_shuffle(op, false, lanes);
    case Primitive::vote: return call_vote(op, lanes);
    case Primitive::redux_add: return call_redux(op, Op::add, lanes);
    case Primitive::redux_min: return call_redux(op, Op::min, lanes);
    case Primitive::redux_max: return call_redux(op, Op::max, lanes);
    case Primitive::redux_and: return call_redux(op, Op::bit_and, lanes);
    case Primitive::redux_or: return call_redux(op, Op::bit_or, lanes);
    case Primitive::redux_xor: return call_redux(op, Op::bit_xor, lanes);
    case Primitive::red_add_vector: return call_red(op, lanes);
    default: return refuse(fmt::format("{} cannot be interpreted", row.name), "interpret the program before this pass");
  }
}

// cp_async(bytes; dst, src, valid bytes): the rest of dst is zero. `first`: the argument that is dst.
bool Machine::call_cp_async(const Operation& op, const ir::Call& call, size_t first, const Lanes& lanes) {
  const std::string& text = call.args[0].text;
  int64_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  const Place &dst = op.arguments[first].place, &src = op.arguments[first + 1].place;
  const Tape* const valid_bytes = op.arguments[first + 2].value;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || !dst.memory || !src.memory || !valid_bytes)
    return fail("cp_async is malformed", Code::kInternal);
  for (uint32_t l : lanes) {
    uint8_t line[16] = {};
    const int64_t valid = std::min(bytes, eval_index(valid_bytes, l));
    if (valid > 0 && !get_bytes(src, l, valid / src.memory->bytes, line)) return false;
    if (!put_bytes(dst, l, bytes / dst.memory->bytes, line)) return false;
  }
  return true;
}

bool Machine::call_move(const Operation& op, size_t dst, size_t src, const Lanes& lanes) {
  const Place &to = op.arguments[dst].place, &from = op.arguments[src].place;
  const int64_t count = std::max(op.arguments[dst].count, op.arguments[src].count);
  if (!to.memory || !from.memory || to.memory->dtype != from.memory->dtype || count < 1 || count > 16)
    return fail("a move with a priority is malformed", Code::kInternal);
  uint8_t held[16 * 8];
  for (uint32_t l : lanes)
    if (!get_bytes(from, l, count, held) || !put_bytes(to, l, count, held)) return false;
  return true;
}

bool Machine::call_red(const Operation& op, const Lanes& lanes) {
  const Place &dst = op.arguments[1].place, &src = op.arguments[2].place;
  if (!dst.memory || !src.memory || dst.memory->dtype != src.memory->dtype) return fail("red is malformed", Code::kInternal);
  const ScalarFunction add = scalar_function(Op::add, dst.memory->dtype, dst.memory->dtype);
  const int64_t count = op.arguments[2].count;
  int64_t to = 0, from = 0;
  for (uint32_t l : lanes) {
    if (!span(dst, l, count, to) || !span(src, l, count, from)) return false;
    for (int64_t i = 0; i < count; ++i) {
      uint64_t old, value;
      if (!read_at(*dst.memory, to + i, l, old) || !read_at(*src.memory, from + i, l, value) ||
          !write_at(*dst.memory, to + i, l, add(old, value, 0)))
        return false;
    }
  }
  return true;
}

// Lane i of matrix m gives the address of row i % 8 of it; each lane gets two 16-bit elements of every matrix.
bool Machine::call_ldmatrix(const Operation& op, int matrices, bool transposed, const Lanes& lanes) {
  const Place &dst = op.arguments[0].place, &src = op.arguments[1].place;
  if (!whole_warps(lanes) || !dst.memory || !src.memory) return fail("ldmatrix is malformed", Code::kInternal);
  for (size_t warp = 0; warp < lanes.size(); warp += kWarp) {
    uint16_t element[4][8][8];
    for (int i = 0; i < matrices * 8; ++i)
      if (!get_bytes(src, lanes[warp + static_cast<size_t>(i)], 16 / src.memory->bytes,
                     reinterpret_cast<uint8_t*>(element[i / 8][i % 8])))
        return false;
    for (uint32_t l = 0; l < kWarp; ++l) {
      uint16_t got[8];
      const uint32_t row = l / 4, column = l % 4 * 2;
      for (int m = 0; m < matrices; ++m)
        for (uint32_t e = 0; e < 2; ++e)
          got[m * 2 + static_cast<int>(e)] = transposed ? element[m][column + e][row] : element[m][row][column + e];
      if (!put_bytes(dst, lanes[warp + l], 4 * matrices / dst.memory->bytes, reinterpret_cast<const uint8_t*>(got)))
        return false;
    }
  }
  return true;
}

bool Machine::call_stmatrix(const Operation& op, int matrices, const Lanes& lanes) {
  const Place &dst = op.arguments[0].place, &src = op.arguments[1].place;
  if (!whole_warps(lanes) || !dst.memory || !src.memory) return fail("stmatrix is malformed", Code::kInternal);
  for (size_t warp = 0; warp < lanes.size(); warp += kWarp) {
    uint16_t element[4][8][8];
    for (uint32_t l = 0; l < kWarp; ++l) {
      uint16_t held[8];
      if (!get_bytes(src, lanes[warp + l], 4 * matrices / src.memory->bytes, reinterpret_cast<uint8_t*>(held)))
        return false;
      for (int m = 0; m < matrices; ++m)
        for (uint32_t e = 0; e < 2; ++e) element[m][l / 4][l % 4 * 2 + e] = held[m * 2 + static_cast<int>(e)];
    }
    for (int i = 0; i < matrices * 8; ++i)
      if (!put_bytes(dst, lanes[warp + static_cast<size_t>(i)], 16 / dst.memory->bytes,
                     reinterpret_cast<const uint8_t*>(element[i / 8][i % 8])))
        return false;
  }
  return true;
}

// The same bytes in 32-bit registers.
bool Machine::call_pack(const Operation& op, const Lanes& lanes) {
  const CompiledArgument &dst = op.arguments[0], &src = op.arguments[1];
  if (!dst.place.memory || !src.place.memory) return fail("pack_regs is malformed", Code::kInternal);
  const int64_t bytes = dst.count * dst.place.memory->bytes;
  if (bytes < 0 || bytes > 4096 || src.count * src.place.memory->bytes != bytes)
    return fail("pack_regs changes the size", Code::kInternal);
  std::vector<uint8_t> held(static_cast<size_t>(bytes));
  for (uint32_t l : lanes)
    if (!get_bytes(src.place, l, src.count, held.data()) || !put_bytes(dst.place, l, dst.count, held.data()))
      return false;
  return true;
}

// The first so many of a run of registers to consecutive elements.
bool Machine::call_store_packed(const Operation& op, const Lanes& lanes) {
  const CompiledArgument &dst = op.arguments[2], &src = op.arguments[3];
  if (!dst.place.memory || !src.place.memory || !op.arguments[4].value || dst.place.memory->dtype != src.place.memory->dtype)
    return fail("store_packed is malformed", Code::kInternal);
  for (uint32_t l : lanes) {
    const int64_t count = std::min(eval_index(op.arguments[4].value, l), src.count);
    int64_t to = 0, from = 0;
    if (count <= 0) continue;
    if (!span(dst.place, l, count, to) || !span(src.place, l, count, from)) return false;
    for (int64_t i = 0; i < count; ++i) {
      uint64_t value;
      if (!read_at(*src.place.memory, from + i, l, value) || !write_at(*dst.place.memory, to + i, l, value)) return false;
    }
  }
  return true;
}

// Floats to 16-bit floats of the type that the template argument names, two to a register.
bool Machine::call_cast_pack(const Operation& op, const ir::Call& call, const Lanes& lanes) {
  const CompiledArgument &dst = op.arguments[1], &src = op.arguments[2];
  const DType to = call.args[0].text == "tl_bf16" ? DType::bf16 : DType::f16;
  if (!dst.place.memory || !src.place.memory || src.place.memory->dtype != DType::f32 || src.count < 0 ||
      src.count > 1024 || dst.count * dst.place.memory->bytes != src.count * 2)
    return fail("cast_pack is malformed", Code::kInternal);
  std::vector<uint8_t> in(static_cast<size_t>(src.count) * 4), out(static_cast<size_t>(src.count) * 2);
  for (uint32_t l : lanes) {
    if (!get_bytes(src.place, l, src.count, in.data())) return false;
    for (size_t i = 0; i < static_cast<size_t>(src.count); ++i)
      store_element(to, &out[i * 2], double_to_bits(to, input_value(DType::f32, &in[i * 4])));
    if (!put_bytes(dst.place, l, dst.count, out.data())) return false;
  }
  return true;
}

// d[16, 8] += a[16, k] * b[k, 8], k = 8 elements-per-register; how a warp holds them is fixed by the instruction set
// (PTX, "Matrix fragments for mma"): lane = 4 g + t; register r of a is row g + 8 (r & 1), columns from per (t + 4 (r /
// 2)) on; of b column g, rows from per (t + 4 r) on; of d rows g and g + 8, columns 2 t and 2 t + 1.
bool Machine::call_mma(const Operation& op, DType input, int per, const Lanes& lanes) {
  const Place &pd = op.arguments[0].place, &pa = op.arguments[1].place, &pb = op.arguments[2].place;
  if (!whole_warps(lanes) || !pd.memory || !pa.memory || !pb.memory) return fail("mma is malformed", Code::kInternal);
  const int k = 8 * per, bytes = 4 / per;
  const bool integer = input == DType::int8;
  for (size_t warp = 0; warp < lanes.size(); warp += kWarp) {
    double a[16][32], b[32][8];
    for (uint32_t l = 0; l < kWarp; ++l) {
      const uint32_t lane = lanes[warp + l];
      const int g = static_cast<int>(l / 4), t = static_cast<int>(l % 4);
      uint8_t ra[16], rb[8];
      if (!get_bytes(pa, lane, 16 / pa.memory->bytes, ra) || !get_bytes(pb, lane, 8 / pb.memory->bytes, rb))
        return false;
      for (int i = 0; i < 4 * per; ++i)
        a[g + 8 * (i / per & 1)][per * (t + 4 * (i / per / 2)) + i % per] = input_value(input, ra + i * bytes);
      for (int i = 0; i < 2 * per; ++i) b[per * (t + 4 * (i / per)) + i % per][g] = input_value(input, rb + i * bytes);
    }
    for (uint32_t l = 0; l < kWarp; ++l) {
      const uint32_t lane = lanes[warp + l];
      uint8_t held[16];
      if (!get_bytes(pd, lane, 16 / pd.memory->bytes, held)) return false;
      for (int i = 0; i < 4; ++i) {
        const int row = static_cast<int>(l / 4) + 8 * (i / 2), column = static_cast<int>(l % 4) * 2 + i % 2;
        if (integer) {
          uint64_t sum = load_element(DType::int32, held + i * 4);
          for (int s = 0; s < k; ++s) sum += static_cast<uint64_t>(static_cast<int64_t>(a[row][s] * b[s][column]));
          store_element(DType::int32, held + i * 4, sum);
        } else {
          float sum;
          std::memcpy(&sum, held + i * 4, 4);
          for (int s = 0; s < k; ++s) sum += static_cast<float>(a[row][s]) * static_cast<float>(b[s][column]);
          std::memcpy(held + i * 4, &sum, 4);
        }
      }
      if (!put_bytes(pd, lane, 16 / pd.memory->bytes, held)) return false;
    }
  }
  return true;
}

bool Machine::call_mma_f64(const Operation& op, const Lanes& lanes) {
  const Place &pd = op.arguments[0].place, &pa = op.arguments[1].place, &pb = op.arguments[2].place;
  if (!whole_warps(lanes) || !pd.memory || !pa.memory || !pb.memory) return fail("mma is malformed", Code::kInternal);
  const auto bytes_of = [](auto& value) { return reinterpret_cast<uint8_t*>(&value); };
  for (size_t warp = 0; warp < lanes.size(); warp += kWarp) {
    double a[8][4], b[4][8];
    for (uint32_t l = 0; l < kWarp; ++l)
      if (!get_bytes(pa, lanes[warp + l], 1, bytes_of(a[l / 4][l % 4])) || !get_bytes(pb, lanes[warp + l], 1, bytes_of(b[l % 4][l / 4])))
        return false;
    for (uint32_t l = 0; l < kWarp; ++l) {
      double sums[2];
      if (!get_bytes(pd, lanes[warp + l], 2, bytes_of(sums))) return false;
      for (uint32_t v = 0; v < 2; ++v)
        for (int k = 0; k < 4; ++k) sums[v] = std::fma(a[l / 4][k], b[k][l % 4 * 2 + v], sums[v]);
      if (!put_bytes(pd, lanes[warp + l], 2, bytes_of(sums))) return false;
    }
  }
  return true;
}

// One element from lane v of the warp, or from lane ^ v.
bool Machine::call_shuffle(const Operation& op, bool by_xor, const Lanes& lanes) {
  const Place &dst = op.arguments[0].place, &src = op.arguments[1].place;
  if (!whole_warps(lanes) || !dst.memory || !src.memory || !op.arguments[2].value ||
      dst.memory->dtype != src.memory->dtype)
    return fail("a shuffle is malformed", Code::kInternal);
  std::vector<uint64_t> held(lanes.size());
  int64_t element;
  for (size_t i = 0; i < lanes.size(); ++i)
    if (!span(src, lanes[i], 1, element) || !read_at(*src.memory, element, lanes[i], held[i])) return false;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto by = static_cast<size_t>(eval(op.arguments[2].value, lanes[i]));
    const size_t from = i / kWarp * kWarp + (by_xor ? i ^ by : by) % kWarp;
    if (!span(dst, lanes[i], 1, element) || !write_at(*dst.memory, element, lanes[i], held[from])) return false;
  }
  return true;
}

bool Machine::call_redux(const Operation& op, Op by, const Lanes& lanes) {
  const Place &dst = op.arguments[0].place, &src = op.arguments[1].place;
  if (!whole_warps(lanes) || !dst.memory || !src.memory || dst.memory->dtype != src.memory->dtype)
    return fail("a reduction over lanes is malformed", Code::kInternal);
  const ScalarFunction combine = scalar_function(by, dst.memory->dtype, dst.memory->dtype);
  int64_t element;
  for (size_t warp = 0; warp < lanes.size(); warp += kWarp) {
    uint64_t total = 0;
    for (size_t i = warp; i < warp + kWarp; ++i) {
      uint64_t held;
      if (!span(src, lanes[i], 1, element) || !read_at(*src.memory, element, lanes[i], held)) return false;
      total = i == warp ? held : combine(total, held, 0);
    }
    for (size_t i = warp; i < warp + kWarp; ++i)
      if (!span(dst, lanes[i], 1, element) || !write_at(*dst.memory, element, lanes[i], total)) return false;
  }
  return true;
}

// A bit for each lane of the warp whose value holds.
bool Machine::call_vote(const Operation& op, const Lanes& lanes) {
  const Place& dst = op.arguments[0].place;
  if (!whole_warps(lanes) || !dst.memory || !op.arguments[1].value) return fail("a vote is malformed", Code::kInternal);
  for (size_t first = 0; first < lanes.size(); first += kWarp) {
    uint64_t ballot = 0;
    for (size_t l = 0; l < kWarp; ++l) ballot |= uint64_t{eval(op.arguments[1].value, lanes[first + l]) != 0} << l;
    int64_t element;
    for (size_t l = 0; l < kWarp; ++l)
      if (!span(dst, lanes[first + l], 1, element) || !write_at(*dst.memory, element, lanes[first + l], ballot)) return false;
  }
  return true;
}

}  // namespace tilert::ir::interp
