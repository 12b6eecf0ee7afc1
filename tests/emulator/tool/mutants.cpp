// Texts are taken line by line, as the generator writes them: one call a line.
#include "emulator/tool/mutants.h"

#include <cctype>
#include <regex>
#include <sstream>

namespace tilert::emulator {
namespace {

// Statements whose loss must be seen: barriers, waits, commits, fences, arrivals.
const char* const kDeleted[] = {"tl_barrier(", "tl_named_barrier(", "tl_warp_sync(", "tl_cp_async_wait<", "tl_cp_async_commit(",
    "tl_mbarrier_init(", "tl_mbarrier_init_fence(", "tl_mbarrier_wait(", "tl_mbarrier_arrive(", "tl_mbarrier_expect(",
    "tl_proxy_fence(", "tl_wgmma_fence(", "tl_wgmma_commit(", "tl_wgmma_wait<", "tl_tma_store_commit(", "tl_tma_store_wait_read<",
    "tl_mma_", "tl_wgmma_ss<", "tl_ldmatrix_", "tl_stmatrix_", "tl_cp_async<", "tl_tma_load_", "tl_tma_store_2d("};

struct Rewrite {
  const char *kind, *pattern, *to;
};
// Weakened: a wait that lets one more be under way, a barrier of fewer threads, of another id, a wrong count, bytes, phase.
// Shifted: by 16 bytes where tiles of 16-bit elements lie, by one element of registers or of global memory.
const Rewrite kRewrites[] = {
    {"weaken", R"((tl_cp_async_wait|tl_wgmma_wait|tl_tma_store_wait_read)<0>)", "$1<1>"},
    {"weaken", R"((tl_cp_async_wait|tl_wgmma_wait|tl_tma_store_wait_read)<1>)", "$1<2>"},
    {"weaken", R"((tl_cp_async_wait)<2>)", "$1<3>"},
    {"weaken", R"((tl_named_barrier\(.*), 128\))", "$1, 96)"},
    {"weaken", R"(tl_named_barrier\(\((.*), 128\))", "tl_named_barrier(1 + ($1, 128)"},
    {"weaken", R"((tl_mbarrier_init\(.*), 1\))", "$1, 2)"},
    {"weaken", R"((tl_mbarrier_init\(.*), 2\))", "$1, 1)"},
    {"weaken", R"((tl_mbarrier_wait\(.*), (\w+)\);)", "$1, 1 - $2);"},
    {"weaken", R"((tl_mbarrier_wait\(.*), (\w+)\);)", "$1, 0);"},
    {"weaken", R"((tl_mbarrier_expect\(.*), (\d+)\);)", "$1, $2 + 16);"},
    {"shift", R"(tl_arena \+ ([1-9]\d+))", "tl_arena + 0"},
    {"shift", R"((tl_ldmatrix_\w+\(.*\), s\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_stmatrix_\w+\(s\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_cp_async<\d+>\(s\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_cp_async<\d+>\(.*, p\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_tma_(load|store)_2d\(.*), (\(.*\))\);)", "$1, 1 + $3);"},
    {"shift", R"((tl_wgmma_descriptor\(.*, s\d+) \+ )", "$1 + 64 + "},
    {"shift", R"((tl_move<\d+>\(p\d+) \+ )", "$1 + 1 + "},
    {"shift", R"((tl_move<\d+>\(.*, p\d+) \+ )", "$1 + 1 + "},
    {"shift", R"((tl_move<\d+>\(s\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_move<\d+>\(.*, s\d+) \+ )", "$1 + 8 + "},
    {"shift", R"((tl_shuffle_xor\(.*), (\d+)\);)", "$1, $2 * 2 & 31);"},
    {"shift", R"(\b([ps]\d+)\[\()", "$1[1 + ("},
    {"shift", R"((tl_slice<\d+>\(r\d+) \+ \(v)", "$1 + 1 + (v"},
};

std::string trimmed(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at == std::string::npos ? "" : line.substr(at);
}

}  // namespace

std::string with_notes(const std::string& body) {
  std::string out, before;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) {
    const std::string code = trimmed(line);
    // A statement that follows the end of another, or the start of a block.
    const bool statement = !code.empty() && code.back() == ';' && !before.empty() && (before.back() == ';' || before.back() == '{' || before.back() == '}');
    out += (statement ? "tlemu_at(__LINE__); " : "") + line + "\n";
    if (!code.empty() && code.rfind("//", 0) != 0) before = code;
  }
  return out;
}

std::vector<Mutant> mutants_of(const std::string& body) {
  std::vector<std::string> lines;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::vector<Mutant> out;
  const auto add = [&](size_t at, const char* kind, const std::string& to) {
    Mutant mutant{kind, static_cast<int>(at) + 1, trimmed(lines[at]), trimmed(to), {}};
    for (size_t i = 0; i < lines.size(); ++i) mutant.body += (i == at ? to : lines[i]) + "\n";
    out.push_back(std::move(mutant));
  };
  static const std::vector<std::regex>* const patterns = [] {
    auto* list = new std::vector<std::regex>;
    for (const Rewrite& rewrite : kRewrites) list->emplace_back(rewrite.pattern);
    return list;
  }();
  // Groups of no copies need no wait: a text without cp_async commits and waits in vain.
  const bool copies = body.find("tl_cp_async<") != std::string::npos;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (line.rfind("//", 0) == 0 || (!copies && line.rfind("tl_cp_async_", 0) == 0)) continue;
    for (const char* start : kDeleted)
      if (line.rfind(start, 0) == 0) add(i, "delete", "");
    for (size_t r = 0; r < patterns->size(); ++r) {
      const std::string to = std::regex_replace(lines[i], (*patterns)[r], kRewrites[r].to, std::regex_constants::format_first_only);
      if (to != lines[i]) add(i, kRewrites[r].kind, to);
    }
  }
  return out;
}

}  // namespace tilert::emulator
