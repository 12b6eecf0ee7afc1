// tilert_diagnostics_read, and how an entry is told.
#include "capi/diagnostics.h"

#include <cstring>

#include "capi/guard.h"

namespace tilert::capi {
namespace {

Status hand_out_one(const ir::Program& program, const ir::Stmt& stmt, const ir::ReportEntry& entry, tilert_on_diagnostic on_entry,
                    void* user) {
  const auto& report = std::get<ir::Report>(stmt.node);
  const ir::Location& at = program.locations[stmt.location < program.locations.size() ? stmt.location : 0];
  std::vector<tilert_dtype> dtypes;
  for (ir::Expr e : report.values) dtypes.push_back(static_cast<tilert_dtype>(e->dtype == DType::index ? DType::int64 : e->dtype));
  const std::string message = fmt::format("{}: {}{}", ir::describe(program, stmt), report.failed ? "assertion failed: " : "",
                                          ir::report_text(report, entry.values));
  tilert_diagnostic out{};
  out.struct_size = sizeof out;
  out.ordinal = entry.ordinal;
  std::copy(entry.block, entry.block + 3, out.block);
  out.value_count = static_cast<uint32_t>(report.values.size());
  out.values = entry.values;
  out.message = message.c_str();
  out.dtypes = dtypes.data();
  out.file = at.file.c_str();
  out.line = static_cast<uint32_t>(at.line);
  out.failed = report.failed;
  on_entry(user, &out);
  return {};
}

}  // namespace

Status hand_out(const ir::Program& program, const ReportMap& reports, std::span<const ir::ReportEntry> entries, uint64_t lost,
                tilert_on_diagnostic on_entry, void* user) {
  if (!on_entry) return make_error(Code::kInvalidArgument, "on_entry is NULL");
  for (const ir::ReportEntry& entry : entries)
    if (!reports.count(entry.ordinal))
      return make_error(Code::kInvalidArgument,
                        "the workspace holds an entry of operation {}, which is no print or assert of program '{}': give the bytes of "
                        "a workspace that was zeroed once and that only this program's launches used",
                        entry.ordinal, program.name);
  for (const ir::ReportEntry& entry : entries)
    TILERT_TRY(hand_out_one(program, *reports.at(entry.ordinal), entry, on_entry, user));
  if (lost == 0) return {};
  const std::string message = fmt::format("{} more entries were lost: {} have room", lost, entries.size());
  const tilert_dtype dtype = TILERT_UINT64;
  tilert_diagnostic out{};
  out.struct_size = sizeof out;
  out.value_count = 1;
  out.values = &lost;
  out.message = message.c_str();
  out.dtypes = &dtype;
  out.file = "";
  on_entry(user, &out);
  return {};
}

namespace {

// The ring lies first in the workspace.
Status read_ring(const ir::Program& program, const void* workspace, uint64_t bytes, tilert_on_diagnostic on_entry, void* user) {
  const ReportMap reports = ir::canonical_reports(program);
  if (reports.empty()) return {};
  if (!workspace || bytes < static_cast<uint64_t>(ir::kReportRingBytes))
    return make_error(Code::kInvalidArgument, "{} bytes of a workspace are given; its diagnostics take the first {}: copy the "
                      "zero_bytes that tilert_workspace names", workspace ? bytes : 0, ir::kReportRingBytes);
  uint64_t count;
  std::memcpy(&count, workspace, sizeof count);
  std::vector<ir::ReportEntry> entries(std::min<uint64_t>(count, ir::kReportEntries));
  if (!entries.empty())
    std::memcpy(entries.data(), static_cast<const char*>(workspace) + ir::kReportHeaderBytes, entries.size() * sizeof(ir::ReportEntry));
  return hand_out(program, reports, entries, count - entries.size(), on_entry, user);
}

}  // namespace
}  // namespace tilert::capi

using namespace tilert;

tilert_status tilert_diagnostics_read(tilert_loaded* loaded, const void* workspace, uint64_t bytes, tilert_on_diagnostic on_entry,
                                      void* user, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(loaded, "loaded"));
    return capi::read_ring(*loaded->program, workspace, bytes, on_entry, user);
  });
}
