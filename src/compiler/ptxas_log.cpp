// Reading of ptxas's lines. Their form, as CUDA 12 and 13 print it:
//   ptxas info    : Compiling entry function 'k' for 'sm_90a'
//   ptxas info    : Function properties for k
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 32 registers, used 1 barriers, 256 bytes smem, 360 bytes cmem[0]
//   ptxas info    : (C7510) Potential Performance Loss: ...
#include "compiler/ptxas_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tilert {
namespace {

// The number right before `unit` in `line`, as 32 in "Used 32 registers".
uint32_t number_before(std::string_view line, std::string_view unit) {
  size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  uint32_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

std::string_view quoted_after(std::string_view line, std::string_view words) {
  size_t at = line.find(words);
  if (at == std::string_view::npos) return {};
  size_t open = line.find('\'', at);
  size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
  return close == std::string_view::npos ? std::string_view{} : line.substr(open + 1, close - open - 1);
}

bool is_note(std::string_view line) {
  return line.find("(C75") != std::string_view::npos ||
         (line.find("warning") != std::string_view::npos && line.find("spill") != std::string_view::npos);
}

class Parser {
 public:
  void line(std::string_view text) {
    if (is_note(text)) report.notes.emplace_back(text);
    if (std::string_view entry = quoted_after(text, "Compiling entry function"); !entry.empty()) {
      report.resources.push_back({std::string(entry)});
      entry_ = true;
      return;
    }
    constexpr std::string_view kProperties = "Function properties for ";
    if (report.resources.empty()) return;
    if (size_t at = text.find(kProperties); at != std::string_view::npos)
      entry_ = text.substr(at + kProperties.size()) == report.resources.back().entry;
    KernelResources& kernel = report.resources.back();
    if (text.find("bytes stack frame") != std::string_view::npos) {
      // Functions that the entry calls without being inlined have their own line: what is worst counts.
      kernel.stack_bytes = std::max(kernel.stack_bytes, number_before(text, "bytes stack frame"));
      kernel.spill_stores = std::max(kernel.spill_stores, number_before(text, "bytes spill stores"));
      kernel.spill_loads = std::max(kernel.spill_loads, number_before(text, "bytes spill loads"));
    }
    if (text.find("Used ") != std::string_view::npos && text.find(" registers") != std::string_view::npos && entry_) {
      kernel.registers = number_before(text, " registers");
      kernel.barriers = number_before(text, " barriers");
      kernel.static_shared = number_before(text, " bytes smem");
    }
  }

  PtxasReport report;

 private:
  bool entry_ = false;  // lines concern the last entry itself, not a function that it calls
};

}  // namespace

PtxasReport parse_ptxas_log(std::string_view log) {
  Parser parser;
  while (!log.empty()) {
    size_t end = std::min(log.find('\n'), log.size());
    parser.line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return std::move(parser.report);
}

}  // namespace tilert
