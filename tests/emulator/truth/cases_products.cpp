// Warpgroup products: the accumulators are shown register after register, so their map is compared too.
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

struct Row {
  const char* name;
  int n;
  const char* type;
  Operand a, b;
  int accumulate;
};
#define TRUTH_LIST(...) {__VA_ARGS__}
constexpr Row kRows[] = {
#define TRUTH_PRODUCT(name, n, type, a, b, accumulate) {#name, n, #type, TRUTH_LIST a, TRUTH_LIST b, accumulate},
#include "emulator/truth/products.def"
};
#undef TRUTH_LIST

constexpr int kArenaWords = 16384;

// Arguments: both descriptors, whether the accumulators are added to.
std::string product_text(int n, const std::string& products) {
  const std::string half = std::to_string(n / 2), words = std::to_string(kArenaWords);
  return kernel(128, "  for (int i = tl_thread(); i < " + words + "; i += 128) {\n    reinterpret_cast<tl_u32*>(tl_arena + 0)[i] = in[i];\n  }\n"
      "  tl_proxy_fence();\n  tl_barrier();\n  float acc[" + half + "];\n  #pragma unroll\n  for (int i = 0; i < " + half + "; i += 1) {\n"
      "    acc[i] = reinterpret_cast<const float*>(in)[" + words + " + i * 128 + tl_thread()];\n  }\n"
      "  const tl_u64 start = tl_address(tl_arena + 0) >> 4;\n"
      "  tl_wgmma_hold(acc);\n  tl_wgmma_fence();\n" + products +
      "  tl_wgmma_commit();\n  tl_wgmma_hold(acc);\n  tl_wgmma_wait<0>();\n  tl_wgmma_hold(acc);\n"
      "  #pragma unroll\n  for (int i = 0; i < " + half + "; i += 1) {\n"
      "    reinterpret_cast<float*>(out)[tl_thread() * " + half + " + i] = acc[i];\n  }\n");
}

std::string call(int n, const std::string& type, const std::string& a, const std::string& b, const std::string& accumulate) {
  return "  tl_wgmma_ss<" + std::to_string(n) + ", tl_" + type + ">(acc, " + a + ", " + b + ", " + accumulate + ");\n";
}

Case product_case(const std::string& name, int n, const std::string& type, const std::vector<int64_t>& arguments, const std::string& products) {
  Case out;
  out.name = "product/" + name;
  out.threads = 128;
  out.shared_bytes = kArenaWords * 4;
  out.per_thread = static_cast<uint32_t>(n / 2);
  out.defined = Defined::f32;
  out.arguments = arguments;
  out.text = product_text(n, products);
  out.input.resize(static_cast<size_t>(kArenaWords + 64 * n) * 4);
  out.output.resize(static_cast<size_t>(64 * n) * 4, 0xff);
  Random random(out.name);
  fill_small(number_of(type), random, out.input.data(), kArenaWords * 4);
  for (size_t at = kArenaWords * 4; at < out.input.size(); at += 4) put(out.input, at, static_cast<float>(random.within(-100, 100)));
  return out;
}

Case row_case(const Row& row) {
  const std::string type = row.type;
  return product_case(row.name, row.n, type, {row.a.descriptor(), row.b.descriptor(), row.accumulate},
                      call(row.n, type, "start + arg[0]", "start + arg[1]", "arg[2]"));
}

}  // namespace

void add_product_cases(std::vector<Case>& out) {
  const Operand a{128, 0, 16, 1024}, b{128, 16384, 16, 1024};
  for (const char* type : {"f16", "bf16"})
    for (int n : {8, 16, 24, 40, 64, 96, 128, 192, 248, 256}) {
      const std::string name = std::string(type) + "_" + std::to_string(n);
      out.push_back(row_case({name.c_str(), n, type, a, b, 1}));
    }
  for (const Row& row : kRows) out.push_back(row_case(row));
  // The descriptor of the library's own making, and four steps along K in one group, the first from nothing.
  std::string steps = "  tl_u64 a[1];\n  tl_u64 b[1];\n  tl_wgmma_descriptor(a, tl_arena + 0);\n  tl_wgmma_descriptor(b, tl_arena + 16384);\n";
  for (int k = 0; k < 4; ++k) steps += call(128, "bf16", "a[0] + " + std::to_string(2 * k), "b[0] + " + std::to_string(2 * k), k ? "1" : "0");
  out.push_back(product_case("four_steps", 128, "bf16", {0}, steps));
}

}  // namespace tilert::truth
