// The ring of diagnostics: what print and assert write, where it lies, and how an entry reads. The bytes are the same on
// every back end: generated code writes ordinals and bit patterns, words come from the program that the reader has.
// Not here: who writes (codegen), where in the workspace the ring lies (jit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "ir/program.h"

namespace tilert::ir {

// One report. Values as in Node::bits: signed integers sign-extended, all others zero-extended.
struct ReportEntry {
  uint32_t ordinal;   // Report::id: the statement's ordinal in the program's canonical form
  uint32_t block[3];  // x first
  uint64_t values[kMaxReported];
};
static_assert(sizeof(ReportEntry) == 64);

// A 64-bit count of all reports since it was zero, then, from kReportHeaderBytes on, the first kReportEntries of them.
inline constexpr int64_t kReportHeaderBytes = 64;
inline constexpr int64_t kReportEntries = 1024;
inline constexpr int64_t kReportRingBytes = kReportHeaderBytes + kReportEntries * int64_t{sizeof(ReportEntry)};

// Whether any kernel of the program reports.
bool has_reports(const Program& program);

// The reports by the ordinals that they have in clone(program, canonical), so that equal programs write equal entries.
std::map<uint32_t, const Stmt*> canonical_reports(const Program& program);
// Gives each report that ordinal as its id, its values as the entry's bits (uint64), and the ring, which the program gets if
// it has reports.
void number_reports(Program& program);

// The message of a report with its values in it.
std::string report_text(const Report& report, std::span<const uint64_t> values);

// How many values the message has places for; nothing where a brace stands alone.
std::optional<size_t> report_places(std::string_view message);

// A value for people: shortest decimals of floats that read back as the same, true and false, integers.
std::string value_text(DType dtype, uint64_t bits);

}  // namespace tilert::ir
