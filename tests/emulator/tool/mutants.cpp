// Texts are taken line by line, as the generator writes them: one statement a line, blocks in braces.
#include "emulator/tool/mutants.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <unordered_map>

namespace tilert::emulator {
namespace {

// Statements whose loss must be seen: barriers, waits, commits, fences, arrivals, and what they order.
const char* const kDeleted[] = {"tl_barrier(", "tl_named_barrier(", "tl_cluster_", "tl_send_part<", "tl_warp_sync(", "tl_cp_async", "tl_mbarrier_",
    "tl_tma_", "tl_proxy_fence(", "tl_wgmma_fence(", "tl_wgmma_commit(", "tl_wgmma_wait<", "tl_wgmma_ss<", "tl_wgmma<", "tl_wgmma_rs<", "tl_mma_", "tl_mfma_", "tl_wmma",
    "tl_ldmatrix_", "tl_stmatrix_", "tl_wait_for_grids("};

struct Rewrite {
  const char *pattern, *to;
};
// Weakened: a wait that lets one more be under way, a barrier of fewer threads or of another id, a wrong count of arrivals
// or bytes, a wrong phase, always the first phase.
const Rewrite kWeakened[] = {
    {R"(^(tl_cp_async_wait|tl_wgmma_wait|tl_tma_store_wait_read|tl_tma_store_wait)<0>)", "$1<1>"},
    {R"(^(tl_cp_async_wait|tl_wgmma_wait|tl_tma_store_wait_read|tl_tma_store_wait)<1>)", "$1<2>"},
    {R"(^(tl_cp_async_wait|tl_wgmma_wait)<2>)", "$1<3>"},
    {R"(^(tl_cp_async_wait|tl_wgmma_wait)<3>)", "$1<4>"},
    {R"(^(tl_named_barrier\(.*), (\d+)\);)", "$1, $2 - 32);"},
    {R"(^tl_named_barrier\((.*), (\d+)\);)", "tl_named_barrier(1 + $1, $2);"},
    {R"(^(tl_mbarrier_init\(.*), (\d+)\);)", "$1, $2 + 1);"},
    {R"(^(tl_mbarrier_init\(.*), 2\);)", "$1, 1);"},
    {R"(^(tl_mbarrier_wait\(.*), ([^,]+)\);)", "$1, 1 - ($2));"},
    {R"(^(tl_mbarrier_wait\(.*), ([^,]+)\);)", "$1, 0);"},
    {R"(^(tl_mbarrier_expect\(.*), (\d+)\);)", "$1, $2 + 16);"},
    {R"(^(tl_send_part<.*), (\d+)\);)", "$1, $2 - 1);"},
    {R"(^(tl_mbarrier_expect\(.*), (\d+)\);)", "$1, $2 - 16);"},
};

// Shifted: `by` is added in front of group 1, behind what group 2 follows, or stands in the place of group 1. "v": the
// elements of the vector that tl_move takes. 8: 16 bytes of a 16-bit tile, by which asynchronous accesses stay aligned.
enum class Where { front, instead, doubled };
struct Shift {
  const char *of, *pattern, *by;  // `of`: how the line begins; empty: any
  Where where = Where::front;
};
#define PLACE R"(\b[ps]\d+(?: \+ ([^ ])|([,)])))"
const Shift kShifts[] = {
    {"", R"(tl_arena \+ ([1-9]\d*))", "0", Where::instead},
    {"", R"(\b[ps]\d+\[(.))", "1"},
    {"", R"(tl_slice<\d+>\(r\d+ \+ ([^ ]))", "1"},
    {"tl_move<", PLACE, "v"},
    {"tl_ldmatrix_", PLACE, "8"},
    {"tl_load_words(", PLACE, "8"},
    {"tl_load_inside<", PLACE, "8"},
    {"tl_stmatrix_", PLACE, "8"},
    {"tl_cp_async<", PLACE, "8"},
    {"tl_mbarrier_", PLACE, "1"},
    {"tl_wgmma_descriptor(", PLACE, "64"},
    {"tl_wgmma_describe<", PLACE, "64"},
    {"tl_wgmma_", R"(v\d+ \+ (\d+)ull\))", "2"},
    {"tl_wgmma<", R"(v\d+ \+ (\d+)ull\))", "2"},
    {"tl_tma_", PLACE, "8"},
    {"tl_send_part<", PLACE, "4"},
    {"tl_tma_load_", R"(map\d+, s\d+[^,]*, ([(\w]))", "1"},
    {"tl_tma_store_", R"(^tl_tma_store_\dd\([^,]*, [^,]*, ([(\w]))", "1"},
    {"tl_tma_", R"(, ([(\w][^,]*\));$)", "1"},
    {"tl_shuffle_xor(", R"(, (\d+)\);)", "", Where::doubled},
};
#undef PLACE

std::string trimmed(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at == std::string::npos ? "" : line.substr(at);
}

bool begins(const std::string& line, const char* with) { return line.rfind(with, 0) == 0; }

const std::regex& compiled(const char* pattern) {
  static std::unordered_map<std::string, std::regex>& all = *new std::unordered_map<std::string, std::regex>;
  const auto [at, fresh] = all.try_emplace(pattern);
  if (fresh) at->second = std::regex(pattern);
  return at->second;
}

// In place of [begin, end) of a line: `before`, then one of two values, then `after`.
struct Edit {
  size_t begin, end;
  std::string before, changed, plain, after;
};

std::vector<Edit> shifts_of(const std::string& line) {
  std::vector<Edit> out;
  for (const Shift& shift : kShifts) {
    if (!begins(line, shift.of)) continue;
    const std::string by = *shift.by == 'v' ? line.substr(8, line.find('>') - 8) : shift.by;
    for (std::sregex_iterator m(line.begin(), line.end(), compiled(shift.pattern)), none; m != none; ++m) {
      const bool behind = !(*m)[1].matched;
      const auto begin = static_cast<size_t>(m->position(behind ? 2 : 1));
      const std::string held = (*m)[1];
      const size_t end = shift.where == Where::front ? begin : begin + held.size();
      if (shift.where == Where::doubled) out.push_back({begin, end, "", held + " * 2 & 31", held, ""});
      else if (shift.where == Where::instead) out.push_back({begin, end, "", by, held, ""});
      else if (behind) out.push_back({begin, end, " + ", by, "0", ""});
      else out.push_back({begin, end, "", by, "0", " + "});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  return out;
}

class Tear {
 public:
  explicit Tear(const std::string& body) {
    std::istringstream in(body);
    // Groups of no copies need no wait: a text without cp_async commits and waits in vain.
    copies_ = body.find("tl_cp_async<") != std::string::npos;
    bool generated = false;
    for (std::string line; std::getline(in, line);) {
      ++line_;
      // The program's own functions stand before the first kernel and are not what is judged.
      out.body += generated ? torn(line) : line;
      generated |= begins(line, "TL_KERNEL(");
      out.body += "\n";
    }
  }

  Torn out;

 private:
  // A place's question: whether the mutant of this number is alive.
  std::string question(const char* kind, const std::string& from, const std::string& to) {
    out.mutants.push_back({kind, line_, from, to});
    return "tlemu_mutant(" + std::to_string(out.mutants.size() - 1) + ")";
  }

  std::string torn(const std::string& whole) {
    const std::string line = trimmed(whole), indent = whole.substr(0, whole.size() - line.size());
    if (line.empty() || begins(line, "//") || begins(line, "#") || (!copies_ && begins(line, "tl_cp_async_"))) return whole;
    std::string choices;
    for (const char* start : kDeleted)
      if (begins(line, start)) choices += "if (" + question("delete", line, "") + ") {} else ";
    for (const Rewrite& weakened : kWeakened)
      if (const std::string to = std::regex_replace(line, compiled(weakened.pattern), weakened.to); to != line)
        choices += "if (" + question("weaken", line, to) + ") { " + to + " } else ";
    std::string shifted;
    size_t done = 0;
    for (const Edit& edit : shifts_of(line)) {
      const std::string to = line.substr(0, edit.begin) + edit.before + edit.changed + edit.after + line.substr(edit.end);
      shifted += line.substr(done, edit.begin - done) + edit.before + "(" + question("shift", line, to) + " ? " + edit.changed + " : " +
                 edit.plain + ")" + edit.after;
      done = edit.end;
    }
    shifted += line.substr(done);
    return indent + choices + shifted;
  }

  bool copies_ = false;
  int line_ = 0;
};

}  // namespace

Torn tear_text(const std::string& body) { return Tear(body).out; }

}  // namespace tilert::emulator
