// Scalar arithmetic: special values in all pairs, then random bits of several kinds. 16-bit and 8-bit inputs of one or two
// operands are taken whole where 65536 values hold them all.
#include <iterator>
#include <utility>

#include "emulator/truth/case.h"

namespace tilert::truth {
namespace {

struct Row {
  const char *name, *in, *out;
  int inputs;
  Defined defined;
  const char* expression;
};
constexpr Row kRows[] = {
#define TRUTH_SCALAR(name, in, out, inputs, defined, ...) {#name, #in, #out, inputs, Defined::defined, #__VA_ARGS__},
#include "emulator/truth/scalar.def"
};

constexpr uint32_t kThreads = 128;

size_t size_of(std::string_view type) {
  static const std::pair<std::string_view, size_t> kSizes[] = {{"float", 4}, {"int", 4}, {"tl_u32", 4}, {"tl_i64", 8}, {"tl_u64", 8}, {"double", 8},
                                                               {"tl_f16", 2}, {"tl_bf16", 2}, {"tl_i16", 2}, {"tl_u16", 2}};
  for (const auto& [name, size] : kSizes)
    if (name == type) return size;
  return 1;
}

constexpr uint64_t kFloats[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
                                0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3f000001,
                                0x3effffff, 0xbf000000, 0x3fc00000, 0x40200000, 0x4b000000, 0x4b000001, 0x4f000000, 0xcf000000, 0x5f000000,
                                0xdf000000, 0x42fe0000, 0x43000000, 0xc3010000, 0x477fe000, 0x477ff000, 0x477fefff, 0x33000000, 0x33000001};
constexpr uint64_t kF16[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x0001, 0x8001, 0x03ff, 0x0400,
                             0x8400, 0x7bff, 0xfbff, 0x3800, 0x3801, 0x37ff, 0x3e00, 0x4100, 0x6400, 0x6401, 0x7800};
constexpr uint64_t kBf16[] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 0x0001, 0x8001, 0x007f, 0x0080,
                              0x8080, 0x7f7f, 0xff7f, 0x3f00, 0x3f01, 0x3eff, 0x3fc0, 0x4020, 0x4b00, 0x4b01, 0x4f00, 0xdf00};
constexpr uint64_t kIntegers[] = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 2047, 2049, 4097, 65535, 0x1000001,
                                  0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
                                  0xffffffffffffffff, 0xfffffffffffffffe, 0xfffffffffffffff9, 0xffffffffffffffe0, 0xffffffff7fffffff,
                                  0xffffffff80000000, 0xffffffff80000001, 0x0000010000000001, 0x0080800000000001};

constexpr uint64_t kDoubles[] = {0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                 0xfff8000000000001, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
                                 0x7fefffffffffffff, 0xffefffffffffffff, 0x3fe0000000000000, 0x3fe0000000000001, 0xbfe0000000000000,
                                 0x3ff8000000000000, 0x4330000000000000, 0x4330000000000001, 0x43e0000000000000, 0xc3e0000000000000,
                                 0x41dfffffffc00000, 0x36a0000000000000, 0x47efffffe0000000, 0x47effffff0000000, 0x3ff0000010000000,
                                 0x3ff0000030000000, 0x40effe0000000000, 0x3ff0020000000000, 0x3ff0020000000001};

struct Values {
  const uint64_t* at;
  size_t count;
};
Values specials(std::string_view type) {
  if (type == "float") return {kFloats, std::size(kFloats)};
  if (type == "tl_f16") return {kF16, std::size(kF16)};
  if (type == "tl_bf16") return {kBf16, std::size(kBf16)};
  if (type == "double") return {kDoubles, std::size(kDoubles)};
  return {kIntegers, std::size(kIntegers)};
}

// Bits of a float: any; about 1, so that sums cancel and round; at ties of 16-bit types.
uint32_t random_float(Random& random) {
  static const uint32_t kTies[] = {0x0000, 0x8000, 0x7fff, 0x8001, 0x1000, 0x0fff, 0x1001, 0x3000};
  const uint32_t bits = random.bits();
  switch (random.bits() >> 28 & 3) {
    case 0: return bits;
    case 1: return (bits & 0x807fffff) | static_cast<uint32_t>(random.within(120, 134)) << 23;
    case 2: return (bits & 0xffff0000) | kTies[random.bits() % 8];
    default: return (bits & 0x807fe000) | kTies[random.bits() % 8] | static_cast<uint32_t>(random.within(100, 144)) << 23;
  }
}

uint64_t random_value(std::string_view type, Random& random) {
  if (type == "float") return random_float(random);
  const uint64_t bits = static_cast<uint64_t>(random.bits()) << 32 | random.bits();
  // Doubles that floats and 16-bit floats nearly are, among those of any bits.
  if (type == "double" && random.within(0, 2))
    return (bits & 0x800ffffff0000000) | static_cast<uint64_t>(random.within(1023 - 30, 1023 + 30)) << 52 | static_cast<uint64_t>(random.within(0, 2) - 1 + 0x10000000);
  if (size_of(type) < 4 || type == "double") return bits;
  // Of every magnitude and both signs.
  return static_cast<uint64_t>(static_cast<int64_t>(bits) >> random.within(0, size_of(type) == 4 ? 63 : 62));
}

uint64_t value(const Row& row, int input, size_t i, Random& random) {
  const Values list = specials(row.in);
  if (row.inputs == 1 && i < list.count) return list.at[i];
  if (row.inputs > 1 && i < list.count * list.count) return list.at[input == 0 ? i / list.count : input == 1 ? i % list.count : random.bits() % list.count];
  return random_value(row.in, random);
}

Case scalar_case(const Row& row) {
  const size_t size = size_of(row.in);
  const bool whole = size * static_cast<size_t>(row.inputs) <= 2;  // every value there is
  const size_t count = whole ? size_t{1} << (8 * size * static_cast<size_t>(row.inputs)) : 4096;
  Case out;
  out.name = std::string("scalar/") + row.name;
  out.threads = kThreads;
  out.defined = row.defined;
  const std::string_view gives = row.out;
  if (gives == "float" || gives == "tl_f16" || gives == "tl_bf16") out.numbers = gives == "float" ? Defined::f32 : gives == "tl_f16" ? Defined::f16 : Defined::bf16;
  out.input.resize(count * size * static_cast<size_t>(row.inputs));
  out.output.resize(count * size_of(row.out), 0xff);
  Random random(out.name);
  for (int input = 0; input < row.inputs; ++input)
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bits = whole ? i >> (8 * size * static_cast<size_t>(input)) : value(row, input, i, random);
      std::memcpy(&out.input[(static_cast<size_t>(input) * count + i) * size], &bits, size);
    }
  const std::string n = std::to_string(count), in = row.in, result = row.out;
  std::string body = "  const " + in + "* const a = reinterpret_cast<const " + in + "*>(in);\n  " + result + "* const r = reinterpret_cast<" + result +
                     "*>(out);\n  for (int i = tl_thread(); i < " + n + "; i += " + std::to_string(kThreads) + ") {\n";
  const char* const names[] = {"x", "y", "z"};
  for (int input = 0; input < row.inputs; ++input)
    body += "    const " + in + " " + names[input] + " = a[i + " + std::to_string(static_cast<size_t>(input) * count) + "];\n";
  out.text = kernel(kThreads, body + "    r[i] = " + row.expression + ";\n  }\n");
  return out;
}

}  // namespace

void add_scalar_cases(std::vector<Case>& out) {
  for (const Row& row : kRows) out.push_back(scalar_case(row));
}

}  // namespace tilert::truth
