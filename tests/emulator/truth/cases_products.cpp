// Warpgroup products: the accumulators are shown register after register, so their map is compared too. The arena's first
// half holds numbers of A's type, the second those of B's.
#include "emulator/truth/case.h"
#include "emulator/truth/numbers.h"

namespace tilert::truth {
namespace {

struct Operand {
  int swizzle;
  uint64_t start, leading, stride;

  // All of a descriptor but the window that shared memory lies in.
  int64_t descriptor() const {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return static_cast<int64_t>(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62);
  }
};

// The types of a product as the primitives name them.
struct Form {
  const char *name, *sums, *a, *b;
};
constexpr Form kForms[] = {
#define TRUTH_PRODUCT(...)
#define TRUTH_FORM(name, sums, a, b) {#name, #sums, #a, #b},
#define TRUTH_MAJOR(...)
#include "emulator/truth/products.def"
};

struct Row {
  const char* name;
  int n;
  const char* type;
  bool mn_a, mn_b, registers;
  Operand a, b;
  int accumulate;
  bool short_form;  // tl_wgmma_ss
};
#define TRUTH_LIST(...) {__VA_ARGS__}
constexpr Row kRows[] = {
#define TRUTH_PRODUCT(name, n, type, a, b, accumulate) {#name, n, "tl_" #type, false, false, false, TRUTH_LIST a, TRUTH_LIST b, accumulate, true},
#define TRUTH_FORM(...)
#define TRUTH_MAJOR(name, n, type, mn_a, mn_b, registers, a, b) {#name, n, #type, mn_a, mn_b, registers, TRUTH_LIST a, TRUTH_LIST b, 1, false},
#include "emulator/truth/products.def"
};
#undef TRUTH_LIST

constexpr size_t kArenaWords = 16384;

std::string text(size_t x) { return std::to_string(x); }
Number number_of_storage(std::string_view type) { return number_of(type == "tl_i8" ? "s8" : type == "tl_u8" ? "u8" : type.substr(3)); }

// What a case's kernel does between the fence and the commit, and around it.
struct Parts {
  std::string sums, before, products;
  size_t words;     // of a thread's accumulators
  bool registers;   // A's, at the end of the input
};

// Arguments: both descriptors, whether the accumulators are added to.
std::string product_text(const Parts& parts) {
  const std::string n = text(parts.words), arena = text(kArenaWords);
  const bool floats = parts.sums == "float";
  const std::string element = floats ? "float" : parts.sums == "int" ? "int" : "tl_u32";
  const std::string hold = std::string("  tl_wgmma_hold") + (floats ? "" : "_words") + "(acc);\n", hold_a = parts.registers ? "  tl_wgmma_hold_words(r);\n" : "";
  std::string out = "  for (int i = tl_thread(); i < " + arena + "; i += 128) {\n    reinterpret_cast<tl_u32*>(tl_arena + 0)[i] = in[i];\n  }\n"
      "  tl_proxy_fence();\n  tl_barrier();\n  " + element + " acc[" + n + "];\n  #pragma unroll\n  for (int i = 0; i < " + n + "; i += 1) {\n"
      "    acc[i] = reinterpret_cast<const " + element + "*>(in)[" + arena + " + i * 128 + tl_thread()];\n  }\n";
  if (parts.registers) out += "  tl_u32 r[4];\n  #pragma unroll\n  for (int i = 0; i < 4; i += 1) {\n    r[i] = in[" + text(kArenaWords + 128 * parts.words) + " + tl_thread() * 4 + i];\n  }\n";
  out += "  const tl_u64 start = tl_address(tl_arena + 0) >> 4;\n" + parts.before + hold + hold_a + "  tl_wgmma_fence();\n" + parts.products +
         "  tl_wgmma_commit();\n" + hold + hold_a + "  tl_wgmma_wait<0>();\n" + hold + hold_a +
         "  #pragma unroll\n  for (int i = 0; i < " + n + "; i += 1) {\n    reinterpret_cast<" + element + "*>(out)[tl_thread() * " + n + " + i] = acc[i];\n  }\n";
  return kernel(128, out);
}

// Accumulators that every sum leaves exact.
uint32_t random_sum(const std::string& sums, Random& random) {
  const int x = random.within(-100, 100), y = random.within(-100, 100);
  if (sums == "int") return random.bits();
  if (sums == "float") return emulator::bits_of_float(static_cast<float>(x));
  return encode(Number::f16, x) | encode(Number::f16, y) << 16;
}

Case product_case(const std::string& name, const Form& form, const Parts& parts, const std::vector<int64_t>& arguments) {
  Case out;
  out.name = "product/" + name;
  out.threads = 128;
  out.shared_bytes = kArenaWords * 4;
  out.per_thread = static_cast<uint32_t>(parts.words);
  out.defined = parts.sums == "float" ? Defined::f32 : Defined::bits;
  out.arguments = arguments;
  out.text = product_text(parts);
  out.input.resize((kArenaWords + 128 * parts.words + (parts.registers ? 512 : 0)) * 4);
  out.output.resize(128 * parts.words * 4, 0xff);
  Random random(out.name);
  fill_small(number_of_storage(form.a), random, out.input.data(), kArenaWords * 2);
  fill_small(number_of_storage(form.b), random, &out.input[kArenaWords * 2], kArenaWords * 2);
  for (size_t i = 0; i < 128 * parts.words; ++i) put(out.input, (kArenaWords + i) * 4, random_sum(parts.sums, random));
  if (parts.registers) fill_small(number_of_storage(form.a), random, &out.input[(kArenaWords + 128 * parts.words) * 4], 2048);
  return out;
}

// One product by the general primitives.
Parts one_product(const Form& form, int n, bool mn_a, bool mn_b, bool registers) {
  const std::string head = text(static_cast<size_t>(n)) + ", " + form.sums + ", " + form.a + ", " + form.b + ", ";
  const std::string call = registers ? "tl_wgmma_rs<" + head + text(mn_b) + ">(acc, r, " : "tl_wgmma<" + head + text(mn_a) + ", " + text(mn_b) + ">(acc, start + arg[0], ";
  return {form.sums, "", "  " + call + "start + arg[1], arg[2]);\n", static_cast<size_t>(std::string_view(form.sums) == "tl_f16" ? n / 4 : n / 2), registers};
}

std::string short_call(int n, const std::string& type, const std::string& a, const std::string& b, const std::string& accumulate) {
  return "  tl_wgmma_ss<" + text(static_cast<size_t>(n)) + ", " + type + ">(acc, " + a + ", " + b + ", " + accumulate + ");\n";
}
Parts short_product(int n, const std::string& type) {
  return {"float", "", short_call(n, type, "start + arg[0]", "start + arg[1]", "arg[2]"), static_cast<size_t>(n / 2), false};
}

Case row_case(const Row& row) {
  const Form form{row.name, "float", row.type, row.type};
  return product_case(row.name, form, row.short_form ? short_product(row.n, row.type) : one_product(form, row.n, row.mn_a, row.mn_b, row.registers),
                      {row.a.descriptor(), row.b.descriptor(), row.accumulate});
}

void add_forms(std::vector<Case>& out) {
  for (const Form& form : kForms) {
    const std::string name = form.name;
    for (int swizzle : {0, 32, 64, 128}) {
      const auto span = static_cast<uint64_t>(swizzle ? swizzle : 16);
      const Operand a{swizzle, 0, 1024, 8 * span}, b{swizzle, 32768, 1024, 8 * span};
      out.push_back(product_case(name + "_swizzle_" + text(static_cast<size_t>(swizzle)), form, one_product(form, 64, false, false, false), {a.descriptor(), b.descriptor(), 1}));
    }
    const Operand a{128, 0, 16, 1024}, b{128, 32768, 16, 1024};
    for (int n : {16, 256}) out.push_back(product_case(name + "_registers_" + text(static_cast<size_t>(n)), form, one_product(form, n, false, false, true), {0, b.descriptor(), n != 16}));
    for (int n : {8, 192}) out.push_back(product_case(name + "_width_" + text(static_cast<size_t>(n)), form, one_product(form, n, false, false, false), {a.descriptor(), b.descriptor(), n != 8}));
  }
}

// Descriptors of the library's own making: four steps along K in one group, the first from nothing; each swizzle's.
void add_descriptors(std::vector<Case>& out) {
  const Form form{"", "float", "tl_bf16", "tl_bf16"};
  Parts parts = short_product(128, "tl_bf16");
  parts.before = "  tl_u64 a[1];\n  tl_u64 b[1];\n  tl_wgmma_descriptor(a, tl_arena + 0);\n  tl_wgmma_descriptor(b, tl_arena + 32768);\n";
  parts.products.clear();
  for (size_t k = 0; k < 4; ++k) parts.products += short_call(128, "tl_bf16", "a[0] + " + text(2 * k), "b[0] + " + text(2 * k), k ? "1" : "0");
  out.push_back(product_case("four_steps", form, parts, {0}));
  parts.before = "  tl_u64 a[1];\n  tl_u64 b[1];\n";
  parts.products.clear();
  const char* const starts[] = {"0", "8192", "16384", "24576"};
  for (size_t i = 0; i < 4; ++i) {
    const std::string swizzle = text(i ? 16u << i : 0), strides = i ? ", 16, " + text(128u << i) : ", 128, 256";
    parts.products += "  tl_wgmma_describe<" + swizzle + ">(a, tl_arena + " + starts[i] + strides + ");\n  tl_wgmma_describe<" + swizzle + ">(b, tl_arena + 32768" + strides + ");\n" +
                      short_call(128, "tl_bf16", "a[0]", "b[0]", i ? "1" : "0");
  }
  out.push_back(product_case("described", form, parts, {0}));
}

// A sparse A of each type: every four bits of metadata, two places that ascend (tf32: one of two), follow from the lane.
void add_sparse(std::vector<Case>& out) {
  const Operand a{128, 0, 16, 1024}, b{128, 32768, 16, 1024};
  for (const Form& form : kForms) {
    if (std::string_view(form.sums) == "tl_f16") continue;
    for (int n : {8, 64}) {
      const bool pairs = std::string_view(form.a) == "tl_tf32";
      Parts parts = one_product(form, n, false, false, false);
      parts.before = std::string("  tl_u32 metadata = 0;\n  for (int i = 0; i < 8; i += 1) {\n    const int choice = (tl_thread() * 7 + tl_thread() / 4 * 5 + i * 3) % 6;\n"
                                 "    metadata = metadata << 4 | ") + (pairs ? "(choice < 3 ? 4u : 14u)" : "(0xedc984u >> (choice * 4) & 15u)") + ";\n  }\n";
      parts.products = "  tl_wgmma_sp<" + text(static_cast<size_t>(n)) + ", " + form.sums + ", " + form.a + ", " + form.b + ", 0>(acc, start + arg[0], start + arg[1], metadata, arg[2]);\n";
      out.push_back(product_case(std::string("sp_") + form.name + "_" + text(static_cast<size_t>(n)), form, parts, {a.descriptor(), b.descriptor(), n != 8}));
    }
  }
}

}  // namespace

void add_product_cases(std::vector<Case>& out) {
  const Operand a{128, 0, 16, 1024}, b{128, 32768, 16, 1024};
  for (const char* type : {"f16", "bf16"})
    for (int n : {8, 16, 24, 40, 64, 96, 128, 192, 248, 256}) {
      const std::string name = std::string(type) + "_" + text(static_cast<size_t>(n)), storage = std::string("tl_") + type;
      out.push_back(row_case({name.c_str(), n, storage.c_str(), false, false, false, a, b, 1, true}));
    }
  for (const Row& row : kRows) out.push_back(row_case(row));
  add_forms(out);
  add_descriptors(out);
  add_sparse(out);
}

}  // namespace tilert::truth
