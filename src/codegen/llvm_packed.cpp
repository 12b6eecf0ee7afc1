// Elements of tensors and tiles that are packed, of less than a byte each: read and written one by one. A write keeps the other bits of
// its bytes, which belong to the same block.
#include "codegen/llvm_kernel.h"
#include "passes/cpu_lowering.h"

namespace tilert::codegen {

using namespace ir;

namespace {

// Where an element lies: its first byte, and the next one where it may reach into it (else the first again), as an i16 of both.
struct PackedPlace {
  std::string low, high, first;  // pointers; the first bit in the two bytes
};

PackedPlace packed_place(LlvmText& t, int width, const std::string& base, const std::string& element) {
  const std::string bit = t.let("mul nsw i64 {}, {}", element, width);
  const std::string byte = t.let("lshr i64 {}, 3", bit);
  PackedPlace out;
  out.first = t.let("trunc i64 {} to i16", t.let("and i64 {}, 7", bit));
  out.low = t.let("getelementptr inbounds i8, ptr {}, i64 {}", base, byte);
  out.high = out.low;
  if (width != 4) {
    const std::string reaches = t.let("icmp ugt i16 {}, {}", out.first, 8 - width);
    const std::string step = t.let("zext i1 {} to i64", reaches);
    out.high = t.let("getelementptr inbounds i8, ptr {}, i64 {}", out.low, step);
  }
  return out;
}

std::string both_bytes(LlvmText& t, const PackedPlace& place) {
  const std::string low = t.let("zext i8 {} to i16", t.let("load i8, ptr {}, align 1", place.low));
  if (place.high == place.low) return low;
  const std::string high = t.let("zext i8 {} to i16", t.let("load i8, ptr {}, align 1", place.high));
  return t.let("or i16 {}, {}", low, t.let("shl i16 {}, 8", high));
}

}  // namespace

bool LlvmKernel::is_packed(BufferId id) const { return ir::is_packed(program_, id); }

std::vector<std::string> LlvmKernel::lane_offsets(const Access& access, int lanes) {
  const Expr offset = prover_.simplify(passes::flat_offset(program_, access));
  if (lanes == 1 || !varies(offset)) return std::vector<std::string>(static_cast<size_t>(lanes), scalar(offset));
  const std::string all = vector(offset, lanes);
  std::vector<std::string> out;
  for (int i = 0; i < lanes; ++i) out.push_back(text_.let("extractelement <{} x i64> {}, i64 {}", lanes, all, i));
  return out;
}

std::string LlvmKernel::read_packed(const Access& access, DType dtype, int lanes) {
  const int width = dtype_bits(dtype);
  std::string out = "poison";
  const std::vector<std::string> offsets = lane_offsets(access, lanes), starts = lane_starts(access, lanes);
  for (int i = 0; i < lanes; ++i) {
    const PackedPlace place = packed_place(text_, width, starts[static_cast<size_t>(i)], offsets[static_cast<size_t>(i)]);
    const std::string low = text_.let("lshr i16 {}, {}", both_bytes(text_, place), place.first);
    const std::string cut = text_.let("trunc i16 {} to i{}", low, width);
    const std::string one = text_.let("{} i{} {} to i8", dtype_is_signed(dtype) ? "sext" : "zext", width, cut);
    if (lanes == 1) return one;
    out = text_.let("insertelement <{} x i8> {}, i8 {}, i64 {}", lanes, out, one, i);
  }
  return out;
}

void LlvmKernel::write_packed(const Access& access, DType dtype, int lanes, const std::string& stored) {
  const int width = dtype_bits(dtype);
  const std::vector<std::string> offsets = lane_offsets(access, lanes), starts = lane_starts(access, lanes);
  for (int i = 0; i < lanes; ++i) {
    const std::string one = lanes == 1 ? stored : text_.let("extractelement <{} x i8> {}, i64 {}", lanes, stored, i);
    const PackedPlace place = packed_place(text_, width, starts[static_cast<size_t>(i)], offsets[static_cast<size_t>(i)]);
    const std::string bits = text_.let("and i16 {}, {}", text_.let("zext i8 {} to i16", one), (1 << width) - 1);
    const std::string placed = text_.let("shl i16 {}, {}", bits, place.first);
    const std::string mask = text_.let("shl i16 {}, {}", (1 << width) - 1, place.first);
    const std::string kept = text_.let("and i16 {}, {}", both_bytes(text_, place), text_.let("xor i16 {}, -1", mask));
    const std::string made = text_.let("or i16 {}, {}", kept, placed);
    // The second byte first: where it is the first one again, that one's bits are what stays.
    if (place.high != place.low) {
      const std::string second = text_.let("trunc i16 {} to i8", text_.let("lshr i16 {}, 8", made));
      text_.put("store i8 {}, ptr {}, align 1", second, place.high);
    }
    text_.put("store i8 {}, ptr {}, align 1", text_.let("trunc i16 {} to i8", made), place.low);
  }
}

}  // namespace tilert::codegen
