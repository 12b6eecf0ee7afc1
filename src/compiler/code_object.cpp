// ELF sections, notes and MessagePack, as far as the metadata of a code object needs them.
#include "compiler/code_object.h"

#include <functional>

namespace tilert {
namespace {

constexpr uint64_t kDeepest = 16;

Error corrupt(std::string_view what) {
  return make_error(Code::kCorrupt, "not a code object for an AMD GPU: {}", what);
}

class Bytes {
 public:
  explicit Bytes(std::string_view all) : all_(all) {}

  bool has(uint64_t at, uint64_t size) const { return at <= all_.size() && size <= all_.size() - at; }
  uint64_t little(uint64_t at, int size) const {
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(all_[at + static_cast<uint64_t>(i)]);
    return value;
  }
  std::string_view part(uint64_t at, uint64_t size) const { return all_.substr(at, size); }

 private:
  std::string_view all_;
};

// The description of the note of type 32 of "AMDGPU".
Result<std::string_view> metadata_note(const Bytes& notes, uint64_t size) {
  constexpr uint64_t kMetadata = 32;
  for (uint64_t at = 0; notes.has(at, 12);) {
    const uint64_t name = notes.little(at, 4), description = notes.little(at + 4, 4), type = notes.little(at + 8, 4);
    const uint64_t text = at + 12, body = text + (name + 3) / 4 * 4;
    if (!notes.has(text, name) || !notes.has(body, description)) break;
    if (type == kMetadata && notes.part(text, name).substr(0, 6) == "AMDGPU") return notes.part(body, description);
    at = body + (description + 3) / 4 * 4;
    if (at >= size) break;
  }
  return corrupt("it has no metadata");
}

Result<std::string_view> find_metadata(std::string_view all) {
  constexpr uint64_t kNote = 7, kAmdGpu = 224, kHeader = 64;
  const Bytes file(all);
  if (!file.has(0, kHeader) || all.substr(0, 6) !=
                                   "\x7f"
                                   "ELF\x02\x01")
    return corrupt("it is no ELF file of 64 bits");
  if (file.little(18, 2) != kAmdGpu) return corrupt("its machine is another");
  const uint64_t sections = file.little(40, 8), size = file.little(58, 2), count = file.little(60, 2);
  for (uint64_t i = 0; i < count && size >= kHeader; ++i) {
    const uint64_t at = sections + i * size;
    if (at < sections || !file.has(at, kHeader)) break;
    if (file.little(at + 4, 4) != kNote) continue;
    const uint64_t offset = file.little(at + 24, 8), bytes = file.little(at + 32, 8);
    if (!file.has(offset, bytes)) break;
    const Bytes notes(file.part(offset, bytes));
    if (Result<std::string_view> found = metadata_note(notes, bytes)) return found;
  }
  return corrupt("it has no metadata");
}

// MessagePack, walked once. `fail` sticks: afterwards everything is empty.
class Pack {
 public:
  explicit Pack(std::string_view bytes) : bytes_(bytes), size_(bytes.size()) {}

  bool failed() const { return failed_; }

  // Calls `entry` with each key; it takes the value, by one of the functions below.
  void map(const std::function<void(std::string_view)>& entry) {
    const uint64_t count = length(0x80, 0x0f, 0, 0xde, 0xdf);
    for (uint64_t i = 0; i < count && !failed_; ++i) {
      const std::string_view key = text();
      if (!failed_) entry(key);
    }
  }
  void array(const std::function<void()>& element) {
    const uint64_t count = length(0x90, 0x0f, 0, 0xdc, 0xdd);
    for (uint64_t i = 0; i < count && !failed_; ++i) element();
  }
  std::string_view text() {
    const uint64_t count = length(0xa0, 0x1f, 0xd9, 0xda, 0xdb);
    if (failed_ || !bytes_.has(at_, count)) return fail(), std::string_view();
    at_ += count;
    return bytes_.part(at_ - count, count);
  }
  uint32_t number() {
    const uint64_t tag = take(1);
    if (tag < 0x80) return static_cast<uint32_t>(tag);
    if (tag < 0xcc || tag > 0xcf) return fail(), 0;
    return static_cast<uint32_t>(take(1 << (tag - 0xcc)));
  }
  void skip(uint64_t depth = 0) {
    if (depth > kDeepest || !bytes_.has(at_, 1)) return fail();
    const uint64_t tag = bytes_.little(at_, 1);
    if ((tag & 0xf0) == 0x80 || tag == 0xde || tag == 0xdf) return map([&](std::string_view) { skip(depth + 1); });
    if ((tag & 0xf0) == 0x90 || tag == 0xdc || tag == 0xdd) return array([&] { skip(depth + 1); });
    if ((tag & 0xe0) == 0xa0 || (tag >= 0xd9 && tag <= 0xdb)) return static_cast<void>(text());
    take(1);
    if (tag >= 0xcc && tag <= 0xd3)
      take(1 << ((tag - 0xcc) & 3));  // integers, by size
    else if (tag == 0xca || tag == 0xcb)
      take(tag == 0xca ? 4 : 8);
    else if (tag >= 0x80 && tag < 0xe0 && tag != 0xc0 && tag != 0xc2 && tag != 0xc3)
      fail();
  }

 private:
  void fail() { failed_ = true; }

  // Big-endian.
  uint64_t take(int size) {
    if (failed_ || !bytes_.has(at_, static_cast<uint64_t>(size))) return fail(), 0;
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8 | bytes_.little(at_++, 1);
    return value;
  }

  // A count that cannot be true, there being a byte or more to each element, fails here.
  uint64_t length(uint64_t fixed, uint64_t mask, uint64_t one, uint64_t two, uint64_t four) {
    const uint64_t tag = take(1);
    uint64_t count = 0;
    if ((tag & ~mask & 0xff) == fixed)
      count = tag & mask;
    else if (tag == two)
      count = take(2);
    else if (tag == four)
      count = take(4);
    else if (one != 0 && tag == one)
      count = take(1);
    else
      fail();
    if (count > size_) fail();
    return failed_ ? 0 : count;
  }

  Bytes bytes_;
  uint64_t size_;
  uint64_t at_ = 0;
  bool failed_ = false;
};

CodeObjectArgument read_argument(Pack& pack) {
  CodeObjectArgument argument;
  pack.map([&](std::string_view key) {
    if (key == ".offset")
      argument.offset = pack.number();
    else if (key == ".size")
      argument.bytes = pack.number();
    else if (key == ".value_kind")
      argument.hidden = pack.text().substr(0, 7) == "hidden_";
    else
      pack.skip();
  });
  return argument;
}

CodeObjectKernel read_kernel(Pack& pack) {
  CodeObjectKernel kernel;
  const struct {
    std::string_view key;
    uint32_t* value;
  } numbers[] = {{".vgpr_count", &kernel.vector_registers},
                 {".sgpr_count", &kernel.scalar_registers},
                 {".agpr_count", &kernel.accumulators},
                 {".private_segment_fixed_size", &kernel.scratch_bytes},
                 {".vgpr_spill_count", &kernel.spilled_vectors},
                 {".sgpr_spill_count", &kernel.spilled_scalars},
                 {".group_segment_fixed_size", &kernel.static_shared},
                 {".wavefront_size", &kernel.wave},
                 {".max_flat_workgroup_size", &kernel.most_threads}};
  pack.map([&](std::string_view key) {
    for (const auto& [name, value] : numbers)
      if (key == name) return static_cast<void>(*value = pack.number());
    if (key == ".name")
      kernel.name = pack.text();
    else if (key == ".args")
      pack.array([&] { kernel.arguments.push_back(read_argument(pack)); });
    else
      pack.skip();
  });
  return kernel;
}

}  // namespace

Result<std::vector<CodeObjectKernel>> read_code_object(std::string_view bytes) {
  TILERT_ASSIGN(const std::string_view metadata, find_metadata(bytes));
  std::vector<CodeObjectKernel> kernels;
  Pack pack(metadata);
  pack.map([&](std::string_view key) {
    if (key == "amdhsa.kernels")
      pack.array([&] { kernels.push_back(read_kernel(pack)); });
    else
      pack.skip();
  });
  if (pack.failed()) return corrupt("its metadata is malformed");
  return kernels;
}

}  // namespace tilert
