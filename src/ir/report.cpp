// Reports for people, and which statements they come from.
#include "ir/report.h"

#include <fmt/format.h>

#include <bit>

#include "ir/visit.h"

namespace tilert::ir {

bool has_reports(const Program& program) {
  bool found = false;
  for (const Kernel& k : program.kernels)
    for_each_stmt(k.body, [&](const Stmt& s) { found |= std::holds_alternative<Report>(s.node); });
  return found;
}

// A canonical copy keeps all statements but declarations, in their order: the n-th report is the n-th report.
std::map<uint32_t, const Stmt*> canonical_reports(const Program& program) {
  if (!has_reports(program)) return {};
  const Program canonical = clone(program, true);
  std::vector<const Stmt*> own;
  std::vector<uint32_t> ordinals;
  for (const Kernel& k : program.kernels)
    for_each_stmt(k.body, [&](const Stmt& s) { if (std::holds_alternative<Report>(s.node)) own.push_back(&s); });
  for (const Kernel& k : canonical.kernels)
    for_each_stmt(k.body, [&](const Stmt& s) { if (std::holds_alternative<Report>(s.node)) ordinals.push_back(s.ordinal); });
  std::map<uint32_t, const Stmt*> out;
  for (size_t i = 0; i < own.size(); ++i) out.emplace(ordinals[i], own[i]);
  return out;
}

namespace {

// The bits of a value as an entry has them.
Expr report_bits(Arena& arena, Expr value) {
  if (value->dtype == DType::f32) value = arena.reinterpret(value, DType::uint32);
  if (value->dtype == DType::f64) return arena.reinterpret(value, DType::uint64);
  return arena.cast(value, DType::uint64);
}

}  // namespace

void number_reports(Program& program) {
  if (!has_reports(program)) return;
  const BufferId ring = program.add_workspace("diagnostics", DType::uint64, {program.arena->index(kReportRingBytes / 8)}, true);
  std::map<const Stmt*, uint32_t> ids;
  for (const auto& [id, stmt] : canonical_reports(program)) ids[stmt] = id;
  for (Kernel& k : program.kernels)
    k.body = rewrite_block(k.body, [&](const StmtPtr& s) -> Block {
      const auto* report = std::get_if<Report>(&s->node);
      if (!report) return {s};
      Report numbered = *report;
      numbered.id = ids.at(s.get());
      numbered.ring = ring;
      for (Expr& e : numbered.values) e = report_bits(*program.arena, e);
      return {make_stmt(std::move(numbered), s->ordinal, s->location)};
    });
}

namespace {

// Calls text(c) for what the message says itself and place() for each value; false where a brace stands alone.
template <class T, class P>
bool read_message(std::string_view message, T text, P place) {
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c != '{' && c != '}') {
      text(c);
      continue;
    }
    const char next = i + 1 < message.size() ? message[i + 1] : '\0';
    ++i;
    if (c == '{' && next == '}') place();
    else if (c == next) text(c);
    else return false;
  }
  return true;
}

}  // namespace

std::optional<size_t> report_places(std::string_view message) {
  size_t places = 0;
  if (!read_message(message, [](char) {}, [&] { ++places; })) return std::nullopt;
  return places;
}

std::string value_text(DType dtype, uint64_t bits) {
  if (dtype == DType::boolean) return bits ? "true" : "false";
  if (dtype == DType::f32) return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (dtype == DType::f64) return fmt::format("{}", std::bit_cast<double>(bits));
  if (dtype == DType::index || dtype_is_signed(dtype)) return std::to_string(static_cast<int64_t>(bits));
  return std::to_string(bits);
}

// Values without a place of their own follow the message.
std::string report_text(const Report& report, std::span<const uint64_t> values) {
  std::string out;
  size_t next = 0;
  const auto value = [&] {
    if (next < values.size() && next < report.values.size()) out += value_text(report.values[next]->dtype, values[next]);
    ++next;
  };
  read_message(report.message, [&](char c) { out += c; }, value);
  for (size_t i = next; i < report.values.size(); ++i) {
    if (!out.empty()) out += i == next ? " " : ", ";
    out += value_text(report.values[i]->dtype, values[i]);
    next = i;
  }
  return out;
}

}  // namespace tilert::ir
