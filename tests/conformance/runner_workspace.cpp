// The workspace of a scenario's launches: one for all of them, as an engine would keep it; and what they told.
#include <algorithm>
#include <cstring>
#include <utility>

#include "conformance/runner.h"

namespace tilert::conformance {

static constexpr size_t kAlignment = 256;

static const uint8_t* aligned(const Bytes& bytes) {
  const size_t misfit = reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment;
  return bytes.data() + (misfit ? kAlignment - misfit : 0);
}
static uint8_t* aligned(Bytes& bytes) { return const_cast<uint8_t*>(aligned(std::as_const(bytes))); }

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
  if (need.bytes > prepared.workspace_bytes) {
    release_workspace(prepared);
    prepared.workspace.assign(need.bytes + kAlignment, 0xa5);
    std::fill_n(aligned(prepared.workspace), need.zero_bytes, uint8_t{0});
    int code = on_device() ? cuda_.allocate(need.bytes, prepared.device_workspace) : 0;
    if (on_device() && code == 0) code = cuda_.upload(prepared.device_workspace, aligned(prepared.workspace), need.bytes);
    if (code) return message = "workspace: driver code " + std::to_string(code), false;
    prepared.workspace_bytes = need.bytes;
  }
  info.workspace_bytes = prepared.workspace_bytes;
  if (info.workspace_bytes) info.workspace = on_device() ? reinterpret_cast<void*>(prepared.device_workspace) : aligned(prepared.workspace);
  return true;
}

bool Machine::make_plan(const Launch& launch, Prepared& prepared, const tilert_launch_info& info, std::string& message) {
  tilert_error* error = nullptr;
  Bytes planned(prepared.workspace_bytes);
  uint64_t bytes = planned.size();
  const auto most = static_cast<uint32_t>(launch.max_blocks);
  if (const tilert_status status = tilert_plan(info.loaded, info.dims, info.dim_count, most, planned.data(), &bytes, &error))
    return message = "plan: " + tl::Error(status, error).text(), false;
  if (!on_device()) return bytes == 0 || (message = "a CPU has a plan", false);
  const auto need = prepared.variants.at(0).workspace(launch.dims);
  if (!need || bytes != need->plan_bytes) return message = "the plan's bytes are not those of the workspace", false;
  const uint64_t place = prepared.device_workspace + need->plan_offset;
  if (launch.plan == Launch::Plan::on_host) {
    const int code = cuda_.upload(place, planned.data(), bytes);
    return code == 0 || (message = "plan: driver code " + std::to_string(code), false);
  }
  if (tilert_plan_launch(&info) != TILERT_OK) return message = std::string("planning: ") + info.failure->message, false;
  if (cuda_.synchronize()) return message = "planning failed", false;
  Bytes made(bytes);
  cuda_.download(made.data(), place, bytes);
  const auto word = [](const Bytes& from, uint64_t at) {
    int32_t value = 0;
    std::memcpy(&value, from.data() + at * 4, 4);
    return value;
  };
  const auto blocks = static_cast<uint64_t>(word(planned, 0)), tiles = static_cast<uint64_t>(word(planned, 1));
  for (uint64_t i = 0; i < bytes / 4; ++i) {
    const bool counts = i < 2 || (i >= 64 && i <= 64 + blocks) || i >= 64 + tiles + 1;
    if (counts && word(made, i) != word(planned, i))
      return message = "word " + std::to_string(i) + " of the plan is " + std::to_string(word(made, i)) + " on the device and " +
                       std::to_string(word(planned, i)) + " on the host", false;
  }
  return true;
}

// Entries of a ring come in the order of blocks that the back end chose: they are compared sorted.
void Machine::check_told(const Scenario& scenario, const Prepared& prepared, Outcome& out) {
  std::vector<tl::Diagnostic> entries = prepared.interpreted;
  if (backend_ != Backend::interpreter) {
    Bytes ring(prepared.workspace_bytes);
    if (on_device() && !ring.empty()) cuda_.download(ring.data(), prepared.device_workspace, ring.size());
    const uint8_t* const bytes = on_device() ? ring.data() : aligned(prepared.workspace);
    auto read = tl::try_diagnostics(prepared.loaded, bytes, ring.size());
    if (!read) return out.fail("diagnostics: " + read.error().text());
    entries = *read;
  }
  std::vector<std::string> told;
  uint64_t lost = 0;
  for (const tl::Diagnostic& d : entries) {
    if (d.ordinal == 0) {
      lost += d.values.at(0);
      continue;
    }
    const size_t place = d.message.find(": ");
    told.push_back("[" + std::to_string(d.block[0]) + ", " + std::to_string(d.block[1]) + ", " + std::to_string(d.block[2]) + "] " +
                   (place == std::string::npos ? d.message : d.message.substr(place + 2)));
  }
  std::sort(told.begin(), told.end());
  if (lost != scenario.lost) return out.fail(std::to_string(lost) + " entries are lost, not " + std::to_string(scenario.lost));
  if (told.size() + lost != scenario.told.size())
    return out.fail("is told " + std::to_string(told.size()) + " entries, not " + std::to_string(scenario.told.size() - lost));
  for (size_t i = 0; i < told.size(); ++i)
    if (lost ? !std::binary_search(scenario.told.begin(), scenario.told.end(), told[i]) : told[i] != scenario.told[i])
      return out.fail("is told: " + told[i]);
}

void Machine::release_workspace(Prepared& prepared) {
  if (prepared.device_workspace) cuda_.release(prepared.device_workspace);
  prepared.device_workspace = prepared.workspace_bytes = 0;
}

}  // namespace tilert::conformance
