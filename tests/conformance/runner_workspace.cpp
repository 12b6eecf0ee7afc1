// The workspace of a scenario's launches: one for all of them, as an engine would keep it.
#include <algorithm>

#include "conformance/runner.h"

namespace tilert::conformance {

static constexpr size_t kAlignment = 256;

bool Machine::make_workspace(const Launch& launch, Prepared& prepared, tilert_launch_info& info, std::string& message) {
  tilert_workspace_info need{};
  for (const tl::Variant& variant : prepared.variants) {
    std::vector<int64_t> dims = launch.dims;
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);  // told by a shape: such a launch is to fail
    const auto own = variant.workspace(dims);
    if (!own) return message = "workspace: " + own.error().text(), false;
    need.bytes = std::max(need.bytes, own->bytes);
    need.zero_bytes = std::max(need.zero_bytes, own->zero_bytes);
  }
  const auto aligned = [&] {
    const size_t misfit = reinterpret_cast<uintptr_t>(prepared.workspace.data()) % kAlignment;
    return prepared.workspace.data() + (misfit ? kAlignment - misfit : 0);
  };
  if (need.bytes > prepared.workspace_bytes) {
    release_workspace(prepared);
    prepared.workspace.assign(need.bytes + kAlignment, 0xa5);
    std::fill_n(aligned(), need.zero_bytes, uint8_t{0});
    int code = on_device() ? cuda_.allocate(need.bytes, prepared.device_workspace) : 0;
    if (on_device() && code == 0) code = cuda_.upload(prepared.device_workspace, aligned(), need.bytes);
    if (code) return message = "workspace: driver code " + std::to_string(code), false;
    prepared.workspace_bytes = need.bytes;
  }
  info.workspace_bytes = prepared.workspace_bytes;
  if (info.workspace_bytes) info.workspace = on_device() ? reinterpret_cast<void*>(prepared.device_workspace) : aligned();
  return true;
}

void Machine::release_workspace(Prepared& prepared) {
  if (prepared.device_workspace) cuda_.release(prepared.device_workspace);
  prepared.device_workspace = prepared.workspace_bytes = 0;
}

}  // namespace tilert::conformance
