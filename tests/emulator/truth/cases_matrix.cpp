// Matrix instructions of a warp: ldmatrix and stmatrix of every form, mma.sync of every row of matrix.def. Each lane's
// registers come from memory and go there as they are, so the lane maps are what is compared.
#include "emulator/truth/case.h"
#include "emulator/truth/numbers.h"

namespace tilert::truth {
namespace {

std::string text(size_t x) { return std::to_string(x); }

// 64 rows of 16 bytes, each lane's address another one, in no simple order.
Case matrix_case(const std::string& name, size_t count, bool store) {
  Case out;
  out.name = "matrix/" + name;
  out.shared_bytes = 1024;
  out.input.resize(1024);
  out.output.resize(store ? 1024 : 128 * count, 0xff);
  out.per_thread = store ? 0 : static_cast<uint32_t>(count);
  Random random(out.name);
  random.fill(out.input.data(), out.input.size());
  const std::string n = text(count), words = "reinterpret_cast<tl_u32*>(tl_arena + 0)[i]";
  std::string body = "  tl_u32 r[" + n + "];\n  for (int i = tl_thread(); i < 256; i += 32) {\n    " + words + " = " + (store ? "i * 0x01010101" : "in[i]") + ";\n  }\n";
  if (store) body += "  for (int i = 0; i < " + n + "; i += 1) {\n    r[i] = in[tl_thread() * " + n + " + i];\n  }\n";
  body += "  tl_warp_sync();\n  tl_" + name + (store ? "(tl_arena + (tl_thread() * 11 + 5) % 64 * 16, r);\n" : "(r, tl_arena + (tl_thread() * 11 + 5) % 64 * 16);\n");
  if (store) body += "  tl_warp_sync();\n  for (int i = tl_thread(); i < 256; i += 32) {\n    out[i] = " + words + ";\n  }\n";
  else body += "  for (int i = 0; i < " + n + "; i += 1) {\n    out[tl_thread() * " + n + " + i] = r[i];\n  }\n";
  out.text = kernel(32, body);
  return out;
}

struct Row {
  const char* name;
  int k;
  Number a, b;
  bool integer;
};
constexpr bool f32 = false, s32 = true;  // accumulators of the table
constexpr Row kRows[] = {
#define EMULATOR_MMA(name, k, a, b, accumulator) {#name, k, Number::a, Number::b, accumulator},
#include "emulator/cuda/matrix.def"
};

// small: whole numbers, all sums exact. single: one product in each sum, of any finite operands whose product is a normal
// number; subnormal operands too. wild: bits of any kind for integers; infinities and NaN, one product in each sum.
enum class Data { small, single, wild };
constexpr const char* kData[] = {"small", "single", "wild"};

// Bits of a finite number; of types with a wide exponent those whose products stay normal.
uint32_t finite(Number type, bool second, Random& random) {
  for (;;) {
    uint32_t raw = random.bits() >> (32 - number_bits(type));
    if (type == Number::bf16 || type == Number::tf32) {
      const int shift = type == Number::bf16 ? 7 : 23, exponent = second ? random.within(137, 187) : random.within(0, 3) == 0 ? 0 : random.within(90, 150);
      raw = (raw & ~(0xffu << shift)) | static_cast<uint32_t>(exponent) << shift;
    }
    const float value = number_value(type, raw);
    if (value == value && value - value == 0) return raw;
  }
}

uint32_t special(Number type, Random& random) {
  static const uint32_t kF16[] = {0x7c00, 0xfc00, 0x7e00, 0xfc01, 0x0000, 0x8000}, kBf16[] = {0x7f80, 0xff80, 0x7fc0, 0xff81, 0x0000, 0x8000},
                        kTf32[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffffe000, 0, 0x80000000}, kE4m3[] = {0x7f, 0xff, 0x7e, 0xfe, 0x00, 0x80},
                        kE5m2[] = {0x7c, 0xfc, 0x7d, 0xff, 0x00, 0x80};
  const uint32_t* const list = type == Number::f16 ? kF16 : type == Number::bf16 ? kBf16 : type == Number::tf32 ? kTf32 : type == Number::e4m3 ? kE4m3 : kE5m2;
  return list[random.within(0, 5)];
}

// Registers of A (or B): element e of register r of a lane. `one`: in each row of A all but one element are zero.
void fill_operand(const Row& row, Data data, bool second, size_t registers, uint8_t* to, Random& random) {
  const Number type = second ? row.b : row.a;
  const size_t size = static_cast<size_t>(number_bits(type)) / 8, per = 4 / size;
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t r = 0; r < registers; ++r)
      for (size_t e = 0; e < per; ++e) {
        uint32_t raw = 0;
        if (row.integer) raw = data == Data::small ? encode(type, random.within(type == Number::u8 ? 0 : -4, 8)) : random.bits();
        else if (data == Data::small) raw = encode(type, random.within(-4, 4));
        else raw = data == Data::wild && random.within(0, 2) == 0 ? special(type, random) : finite(type, second, random);
        // K of this element, and the only K of its row that is not zero.
        const size_t k = lane % 4 * per + e + 4 * per * (second ? r : r / 2), i = lane / 4 + 8 * (r % 2);
        if (!second && !row.integer && data != Data::small && k != (i * 5 + 3) % static_cast<size_t>(row.k)) raw = 0;
        std::memcpy(to + (lane * registers + r) * 4 + e * size, &raw, size);
      }
}

Case mma_case(const Row& row, Data data) {
  Case out;
  out.name = std::string("mma/") + row.name + "_" + kData[static_cast<int>(data)];
  out.per_thread = 4;
  out.defined = row.integer ? Defined::bits : Defined::f32;
  const size_t b = static_cast<size_t>(row.k * number_bits(row.a) / 128), a = 2 * b;
  Random random(out.name);
  out.input.resize(32 * 4 * (a + b + 4));
  out.output.resize(512, 0xff);
  fill_operand(row, data, false, a, out.input.data(), random);
  fill_operand(row, data, true, b, &out.input[128 * a], random);
  for (size_t i = 0; i < 128; ++i) {
    // Accumulators: whole numbers; none beside single products, whose sum would round.
    const int value = data == Data::small || row.integer ? random.within(-100, 100) : 0;
    const uint32_t bits = row.integer ? (data == Data::wild ? random.bits() : static_cast<uint32_t>(value)) : emulator::bits_of_float(static_cast<float>(value));
    put(out.input, 128 * (a + b) + 4 * i, bits);
  }
  const std::string t = row.integer ? "int" : "float";
  const auto load = [&](const std::string& name, size_t count, size_t at) {
    return "  for (int i = 0; i < " + text(count) + "; i += 1) {\n    " + name + "[i] = in[" + text(at) + " + tl_thread() * " + text(count) + " + i];\n  }\n";
  };
  out.text = kernel(32, "  tl_u32 a[" + text(a) + "];\n  tl_u32 b[" + text(b) + "];\n  " + t + " d[4];\n" + load("a", a, 0) + load("b", b, 32 * a) +
                            "  tl_move<4>(d, reinterpret_cast<const " + t + "*>(in) + " + text(32 * (a + b)) + " + tl_thread() * 4);\n  tl_mma_" + row.name +
                            "(d, a, b);\n  tl_move<4>(reinterpret_cast<" + t + "*>(out) + tl_thread() * 4, d);\n");
  return out;
}

constexpr Row kSparse[] = {
#define EMULATOR_MMA_SP(name, k, a, b, accumulator) {#name, k, Number::a, Number::b, accumulator},
#include "emulator/cuda/matrix.def"
};

// A sparse A: its kept elements are filled as those of a dense one of half the depth. Each four bits of metadata say two places that
// ascend, of tf32 one of two.
Case sparse_case(const Row& row, Data data) {
  Case out;
  out.name = std::string("mma/sp_") + row.name + "_" + kData[static_cast<int>(data)];
  out.per_thread = 4;
  out.defined = row.integer ? Defined::bits : Defined::f32;
  Random random(out.name);
  out.input.resize(32 * 4 * 13);
  out.output.resize(512, 0xff);
  Row kept = row;
  kept.k = row.k / 2;
  fill_operand(kept, data, false, 4, out.input.data(), random);
  fill_operand(row, data, true, 4, &out.input[512], random);
  for (size_t i = 0; i < 128; ++i) {
    const int value = data == Data::small || row.integer ? random.within(-100, 100) : 0;
    put(out.input, 1024 + 4 * i, row.integer ? (data == Data::wild ? random.bits() : static_cast<uint32_t>(value)) : emulator::bits_of_float(static_cast<float>(value)));
  }
  for (size_t lane = 0; lane < 32; ++lane) {
    static constexpr uint32_t kPairs[] = {4, 8, 9, 12, 13, 14};
    uint32_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 4 | (row.a == Number::tf32 ? kPairs[5 * random.within(0, 1)] : kPairs[random.within(0, 5)]);
    put(out.input, 1536 + 4 * lane, word);
  }
  const std::string t = row.integer ? "int" : "float";
  out.text = kernel(32, "  tl_u32 a[4];\n  tl_u32 b[4];\n  " + t + " d[4];\n  for (int i = 0; i < 4; i += 1) {\n    a[i] = in[tl_thread() * 4 + i];\n"
                        "    b[i] = in[128 + tl_thread() * 4 + i];\n  }\n  tl_move<4>(d, reinterpret_cast<const " + t + "*>(in) + 256 + tl_thread() * 4);\n  tl_mma_sp_" +
                            row.name + "(d, a, b, in[384 + tl_thread()]);\n  tl_move<4>(reinterpret_cast<" + t + "*>(out) + tl_thread() * 4, d);\n");
  return out;
}

// m8n8k4 on f64: whole numbers; and operands whose products round, one in each sum.
Case wide_case(bool whole) {
  Case out;
  out.name = std::string("mma/m8n8k4_f64_") + (whole ? "small" : "single");
  out.per_thread = 4;
  Random random(out.name);
  out.input.resize(8 * 128);
  out.output.resize(8 * 64, 0xff);
  for (size_t i = 0; i < 128; ++i) {
    const double small = random.within(-8, 8), odd = small * 0x1.123456789abcdp3 + random.within(1, 1000);
    const bool lone = i >= 32 || i % 4 == i / 4 % 4;
    const double value = whole ? small : i >= 64 ? 0 : lone ? odd : 0;
    std::memcpy(&out.input[8 * i], &value, 8);
  }
  out.text = kernel(32, "  const double* const x = reinterpret_cast<const double*>(in);\n  double a[1], b[1], d[2];\n  a[0] = x[tl_thread()];\n"
                        "  b[0] = x[32 + tl_thread()];\n  d[0] = x[64 + tl_thread() * 2];\n  d[1] = x[64 + tl_thread() * 2 + 1];\n"
                        "  tl_mma_m8n8k4_f64(d, a, b);\n  reinterpret_cast<double*>(out)[tl_thread() * 2] = d[0];\n"
                        "  reinterpret_cast<double*>(out)[tl_thread() * 2 + 1] = d[1];\n");
  return out;
}

}  // namespace

void add_matrix_cases(std::vector<Case>& out) {
  for (const char* form : {"", "_trans"})
    for (size_t count : {1, 2, 4}) {
      out.push_back(matrix_case("ldmatrix_x" + text(count) + form, count, false));
      out.push_back(matrix_case("stmatrix_x" + text(count) + form, count, true));
    }
  for (const Row& row : kRows)
    for (Data data : {Data::small, Data::single, Data::wild}) out.push_back(mma_case(row, data));
  for (const Row& row : kSparse)
    for (Data data : {Data::small, Data::single, Data::wild}) out.push_back(sparse_case(row, data));
  for (bool whole : {true, false}) out.push_back(wide_case(whole));
}

}  // namespace tilert::truth
