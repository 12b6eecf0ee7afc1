// The list of all cases; what of an output is compared.
#include "emulator/truth/case.h"

#include <cstdio>

namespace tilert::truth {

std::string kernel(uint32_t threads, const std::string& body) {
  return "TL_KERNEL(" + std::to_string(threads) +
         ", 1) truth(const __grid_constant__ tl_tensor_map map, const tl_u32* in, tl_u32* out, const tl_i64* arg) {\n" + body + "}\n";
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  add_scalar_cases(out);
  add_memory_cases(out);
  add_matrix_cases(out);
  add_copy_cases(out);
  add_product_cases(out);
  add_atomic_cases(out);
  return out;
}

namespace {

// Words of `Word` whose exponent is all ones and whose mantissa is not zero.
template <class Word>
void merge_nans(Bytes& bytes, Word infinity) {
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, &bytes[at], sizeof word);
    if ((word & static_cast<Word>(~Word{0} >> 1)) > infinity) put(bytes, at, static_cast<Word>(~Word{0} >> 1));
  }
}

}  // namespace

Bytes canonical(const Case& of, Bytes output) {
  switch (of.defined) {
    case Defined::bits: break;
    case Defined::f32: merge_nans<uint32_t>(output, 0x7f800000u); break;
    case Defined::f16: merge_nans<uint16_t>(output, 0x7c00); break;
    case Defined::bf16: merge_nans<uint16_t>(output, 0x7f80); break;
  }
  return output;
}

std::string digest(const Bytes& bytes) {
  uint64_t a = 0xcbf29ce484222325ull, b = 0x9e3779b97f4a7c15ull;
  for (uint8_t byte : bytes) {
    a = (a ^ byte) * 0x100000001b3ull;
    b = (b + byte + 1) * 0xff51afd7ed558ccdull;
    b ^= b >> 29;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  return text;
}

}  // namespace tilert::truth
