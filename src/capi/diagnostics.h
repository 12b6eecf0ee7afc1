// Entries of print and assert as the caller sees them: with words from the program.
#pragma once

#include <map>
#include <span>

#include "capi/handles.h"
#include "ir/report.h"

namespace tilert::capi {

using ReportMap = std::map<uint32_t, const ir::Stmt*>;  // of ir::canonical_reports

// Calls on_entry for each, and last for those that were lost. An ordinal that the program does not have is an error.
Status hand_out(const ir::Program& program, const ReportMap& reports, std::span<const ir::ReportEntry> entries, uint64_t lost,
                tilert_on_diagnostic on_entry, void* user);

}  // namespace tilert::capi
