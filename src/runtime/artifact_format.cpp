// The artifact's flat serialization: one description of the fields, read and written by the same code.
// Layout: magic, version, length of all, fields in order, SHA-256 of everything before it. Little-endian.
#include <sodium.h>

#include <bit>
#include <cstring>
#include <type_traits>

#include "runtime/artifact.h"
#include "support/refusal.h"

namespace tilert::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "artifacts are read and written in place");

constexpr char kMagic[8] = {'T', 'L', 'R', 'T', 'A', 'R', 'T', '\n'};
constexpr size_t kHeaderBytes = sizeof(kMagic) + 4 + 4 + 8;
constexpr size_t kDigestBytes = crypto_hash_sha256_BYTES;

class Writer {
 public:
  template <class T>
  void number(T& value) {
    bytes_.insert(bytes_.end(), reinterpret_cast<const uint8_t*>(&value),
                  reinterpret_cast<const uint8_t*>(&value) + sizeof(T));
  }
  uint32_t count(size_t value) {
    auto stored = static_cast<uint32_t>(value);
    number(stored);
    return stored;
  }
  void raw(const void* data, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  template <class Container>
  void blob(Container& container) {
    count(container.size());
    raw(container.data(), container.size());
  }
  template <class T, class Each>
  void list(std::vector<T>& items, Each each) {
    count(items.size());
    for (T& item : items) each(item);
  }
  std::vector<uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  template <class T>
  void number(T& value) {
    if (rest_.size() < sizeof(T)) return fail();
    if constexpr (std::is_same_v<T, bool>) {
      if (rest_[0] > 1) return fail();
      value = rest_[0] != 0;
    } else {
      std::memcpy(&value, rest_.data(), sizeof(T));
    }
    rest_ = rest_.subspan(sizeof(T));
  }
  template <class Container>
  void blob(Container& container) {
    uint32_t size = 0;
    number(size);
    if (size > rest_.size()) return fail();
    container.assign(rest_.begin(), rest_.begin() + size);
    rest_ = rest_.subspan(size);
  }
  // Every item takes at least one byte, so a count beyond the rest is a lie and reserves nothing.
  template <class T, class Each>
  void list(std::vector<T>& items, Each each) {
    uint32_t size = 0;
    number(size);
    if (size > rest_.size()) return fail();
    for (uint32_t i = 0; i < size && ok_; ++i) each(items.emplace_back());
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

template <class A>
void fields(A& a, Expr& expr) {
  a.number(expr.begin);
  a.number(expr.count);
}

template <class A>
void fields(A& a, Instruction& instruction) {
  a.number(instruction.op);
  a.number(instruction.a);
  a.number(instruction.b);
  a.number(instruction.value);
}

template <class A>
void fields(A& a, Param& param) {
  a.number(param.kind);
  a.blob(param.name);
  a.number(param.dtype);
  a.number(param.access);
  a.list(param.dims, [&](TensorDim& dim) {
    fields(a, dim.size);
    a.number(dim.rule);
    fields(a, dim.stride);
  });
  a.number(param.alignment);
  a.number(param.may_alias);
}

template <class A>
void fields(A& a, Dim& dim) {
  a.number(dim.kind);
  a.blob(dim.name);
  a.number(dim.first);
  a.number(dim.last);
}

template <class A>
void fields(A& a, TensorMapRecipe& map) {
  a.number(map.param);
  fields(a, map.offset);
  a.number(map.dtype);
  a.number(map.rank);
  for (int i = 0; i < 5; ++i) {
    fields(a, map.dims[i]);
    fields(a, map.strides[i]);
    a.number(map.box[i]);
    a.number(map.element_strides[i]);
  }
  a.number(map.swizzle);
  a.number(map.l2);
}

template <class A>
void fields(A& a, Kernel& kernel) {
  a.blob(kernel.entry);
  for (Expr& extent : kernel.grid) fields(a, extent);
  for (uint32_t& extent : kernel.threads) a.number(extent);
  for (uint32_t& extent : kernel.cluster) a.number(extent);
  a.number(kernel.shared_bytes);
  for (Expr& extent : kernel.thread_exprs) fields(a, extent);
  for (Expr& extent : kernel.cluster_exprs) fields(a, extent);
  fields(a, kernel.shared_expr);
  a.number(kernel.features);
  a.number(kernel.attributes);
  a.list(kernel.slots, [&](Slot& slot) {
    a.number(slot.kind);
    a.number(slot.bytes);
    a.number(slot.index);
    fields(a, slot.expr);
  });
  a.list(kernel.tensor_maps, [&](TensorMapRecipe& map) { fields(a, map); });
  fields(a, kernel.work);
  fields(a, kernel.tile_cost);
  fields(a, kernel.tile_locality);
  for (Expr& extent : kernel.tiles) fields(a, extent);
}

template <class A>
void fields(A& a, Artifact& artifact) {
  a.number(artifact.kind);
  a.blob(artifact.target);
  a.blob(artifact.code);
  a.list(artifact.params, [&](Param& param) { fields(a, param); });
  a.list(artifact.dims, [&](Dim& dim) { fields(a, dim); });
  a.list(artifact.kernels, [&](Kernel& kernel) { fields(a, kernel); });
  fields(a, artifact.guard);
  fields(a, artifact.workspace.bytes);
  fields(a, artifact.workspace.zero_bytes);
  a.number(artifact.workspace.alignment);
  fields(a, artifact.diagnostics_bytes);
  a.list(artifact.bytecode, [&](Instruction& instruction) { fields(a, instruction); });
  a.blob(artifact.configuration);
  a.blob(artifact.provenance.library_build);
  a.number(artifact.provenance.generator_version);
  a.blob(artifact.provenance.compiler);
}

Error corrupt(const char* what) {
  return make_error(Code::kCorrupt, "a cached kernel is damaged: {}; it has to be compiled again", what);
}

}  // namespace

Result<std::vector<uint8_t>> serialize(const Artifact& artifact) {
  TILERT_TRY(verify(artifact));
  Writer writer;
  writer.raw(kMagic, sizeof kMagic);
  uint32_t version = kArtifactVersion, flags = 0;
  writer.number(version);
  writer.number(flags);
  uint64_t total = 0;
  writer.number(total);
  Artifact copy = artifact;  // one description serves both directions, so it takes the value as changeable
  fields(writer, copy);
  total = writer.bytes_.size() + kDigestBytes;
  if (total > UINT32_MAX) return refusal(fmt::format("a kernel of {} bytes is too large to store", total), "split the program, or bind fewer dims");
  std::memcpy(writer.bytes_.data() + kHeaderBytes - sizeof total, &total, sizeof total);
  uint8_t digest[kDigestBytes];
  crypto_hash_sha256(digest, writer.bytes_.data(), writer.bytes_.size());
  writer.raw(digest, sizeof digest);
  return std::move(writer.bytes_);
}

Result<ArtifactPtr> deserialize(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes + kDigestBytes) return corrupt("it is cut short");
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return corrupt("it does not start as one");
  uint32_t version = 0, flags = 0;
  uint64_t total = 0;
  std::memcpy(&version, bytes.data() + sizeof kMagic, sizeof version);
  std::memcpy(&flags, bytes.data() + sizeof kMagic + 4, sizeof flags);
  std::memcpy(&total, bytes.data() + sizeof kMagic + 8, sizeof total);
  if (version != kArtifactVersion || flags != 0) {
    return make_error(Code::kCorrupt, "a cached kernel has format version {}.{}; this library reads {}.0", version,
                      flags, kArtifactVersion);
  }
  if (total != bytes.size()) return corrupt("its length is not the one it states");
  const auto body = bytes.first(bytes.size() - kDigestBytes);
  uint8_t digest[kDigestBytes];
  crypto_hash_sha256(digest, body.data(), body.size());
  if (std::memcmp(digest, bytes.data() + body.size(), sizeof digest) != 0) return corrupt("its checksum is wrong");
  Reader reader(body.subspan(kHeaderBytes));
  auto artifact = std::make_shared<Artifact>();
  fields(reader, *artifact);
  if (!reader.ok() || !reader.at_end()) return corrupt("a length inside is wrong");
  if (Status status = verify(*artifact); !status) {
    return make_error(Code::kCorrupt, "a cached kernel is damaged: {}", status.error().message);
  }
  return ArtifactPtr(std::move(artifact));
}

std::string signature_hash(const Artifact& artifact) {
  Writer writer;
  const auto text = [&](const std::string& value) { writer.blob(value); };
  writer.count(artifact.params.size());
  for (const Param& param : artifact.params) {
    const uint32_t kind = static_cast<uint32_t>(param.kind), dtype = static_cast<uint32_t>(param.dtype),
                   access = static_cast<uint32_t>(param.access), rank = static_cast<uint32_t>(param.dims.size());
    text(param.name);
    for (const uint32_t value : {kind, dtype, access, rank}) writer.number(value);
  }
  writer.count(artifact.dims.size());
  for (const Dim& dim : artifact.dims) text(dim.name);
  uint8_t digest[kDigestBytes];
  crypto_hash_sha256(digest, writer.bytes_.data(), writer.bytes_.size());
  char hex[2 * kDigestBytes + 1];
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  return hex;
}

}  // namespace tilert::runtime
