// Loaded: the variants of one kernel in one device, with everything that a launch needs worked out beforehand.
// Not here: which variant a launch takes, and launching (launch.h).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/device.h"

namespace tilert::runtime {

using CpuEntry = void (*)(const uint64_t* params, int64_t first_block, int64_t last_block, const int64_t grid[3],
                          void* scratch);

// One extent or stride with the two common forms taken apart: a dim by index, or a constant.
struct Term {
  static constexpr int32_t kConstant = -1;
  static constexpr int32_t kGeneral = -2;

  int32_t dim = kConstant;  // >= 0: that dim
  uint32_t count = 0;       // general: instructions from number `value` on
  int64_t value = 0;        // constant
};

struct PreparedDim {
  Term size;
  Term stride;  // where the rule is given
  StrideRule rule = StrideRule::contiguous;
};

// Small, because a launch walks all of them.
struct PreparedParam {
  ParamKind kind = ParamKind::tensor;
  DType dtype = DType::none;
  uint8_t bits = 0;
  uint8_t rank = 0;
  bool dense = true;            // every dim's rule is contiguous, elements are whole bytes
  uint16_t first_dim = 0;       // in the variant's list of dims of tensors; its strides lie at the same places
  uint32_t alignment_mask = 0;  // alignment - 1
};

struct PreparedSlot {
  SlotKind kind = SlotKind::pointer;
  uint8_t bytes = 8;
  uint16_t index = 0;
  uint32_t offset = 0;  // in the parameter bytes
  Term term;
};

// A tensor map with the driver's numbers.
struct PreparedMap {
  const TensorMapRecipe* recipe = nullptr;  // in the artifact
  int32_t element_type = 0;
  uint32_t element_bytes = 0;
  Term offset, dims[5], strides[5];
};

struct PreparedKernel {
  const Kernel* kernel = nullptr;  // in the artifact
  CuFunction function = nullptr;
  CpuEntry entry = nullptr;
  Term grid[3];
  std::vector<PreparedSlot> slots;
  std::vector<PreparedMap> maps;
  Term work;
  uint32_t first_map = 0;  // of the variant's maps, counted over its kernels
  uint32_t parameter_bytes = 0;
  bool cluster = false;  // of more than one block, or of a number that the launch works out
  bool planner = false;     // no part of a launch
  bool persistent = false;  // at most `resident` blocks are launched
  int64_t resident = 0;  // blocks that fit on the device at once, of a kernel that needs to know; 0: unknown
  bool sized = false;    // threads, cluster or shared memory follow from dims and scalars
  Term threads[3], clusters[3], shared;
  uint32_t most_threads = 1024, most_shared = 0, most_in_cluster = 1;  // as function and device allow
  // As the driver tells, for introspection; 0 on a CPU.
  uint32_t registers = 0, local_bytes = 0, static_shared_bytes = 0;
};

struct LoadedVariant {
  uint64_t id = 0;  // of no other variant in this process; not 0
  ArtifactPtr artifact;
  const Instruction* code = nullptr;
  std::vector<PreparedParam> params;
  std::vector<PreparedDim> tensor_dims;  // of all tensors, one after the other
  std::vector<Dim> dims;
  std::vector<PreparedKernel> kernels;
  bool reads_strides = false;  // some expression does
  bool reads_scalars = false;
  bool reads_alignments = false;
  bool has_guard = false;
  Term guard, workspace;
  std::shared_ptr<LoadedModule> module;
  std::shared_ptr<ScratchArena> scratch;  // CPU, where a kernel needs any
};

// The variants as a launch sees them; never changed once published.
struct VariantTable {
  std::vector<std::shared_ptr<const LoadedVariant>> variants;
};

class Loaded {
 public:
  // For Device::load. `variants` is not empty.
  static Result<LoadedPtr> make(std::shared_ptr<Device> device, std::span<const ArtifactPtr> variants);
  ~Loaded();  // only marks; Device::trim unloads
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // Loads more variants of the same kernel; launches see all of them or none. A variant that is loaded already (the
  // same artifact object) is skipped. Variants are tried in the order in which they came.
  Status add(std::span<const ArtifactPtr> variants);

  const VariantTable& table() const { return *table_.load(std::memory_order_acquire); }
  Device& device() const { return *device_; }
  bool pinned() const;
  void unpin();  // the caller's word that no captured graph and no exported launch of it remains

 private:
  explicit Loaded(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  std::shared_ptr<Device> device_;
  std::atomic<const VariantTable*> table_{nullptr};
  std::mutex mutex_;                                   // of adding
  std::vector<std::unique_ptr<VariantTable>> tables_;  // all that were ever published: a launch may still read one
  std::string signature_;
};

// The natural alignment of the device ABI, by which a kernel's parameters follow each other.
uint32_t parameter_alignment(const Slot& slot);

}  // namespace tilert::runtime
