// tilert_truth: runs the cases on a GPU or on the emulator, records what they leave, compares.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "codegen/device_text.h"
#include "emulator/truth/coverage.h"
#include "emulator/truth/record.h"

using namespace tilert::truth;

namespace {

constexpr char kUsage[] = R"(tilert_truth: kernels over the device primitives, whose bits a GPU and the emulator must agree on.

    tilert_truth --record FILE [--raw]        runs all cases on the GPU and writes their digests (--raw: their bytes)
    tilert_truth --compare                    runs them on the GPU and on the emulator, and shows where they differ
    tilert_truth --emulated --against FILE    compares the emulator with a record
    tilert_truth --waves LANES [--filter TEXT] compares the emulator's waves, which run the cases as HIP text, with its CUDA; NaN is NaN
    tilert_truth --read RAW --record FILE     digests of a record with bytes
    tilert_truth --coverage                   names parts of device/cuda that need a case and have none
    tilert_truth --compile TARGET             compiles all cases with NVRTC, without a GPU

  --driver PATH, --nvrtc PATH   other libraries than the loader finds; --emulated: the emulator's
  --emulator PATH               libtilert_emulator.so, else beside the program
  --filter TEXT, --show CASE    only cases whose names hold the text; that case, with every difference
  --limit SECONDS               for one case (20)
)";

struct Options {
  Libraries libraries;
  std::string record, against, read, filter, show, emulator, compile;
  bool raw = false, compare = false, emulated = false, coverage = false;
  int limit = 20;
  unsigned waves = 0;
};

bool parse(int count, char** words, Options& out) {
  const std::pair<const char*, std::string*> texts[] = {{"--driver", &out.libraries.driver}, {"--nvrtc", &out.libraries.nvrtc},
      {"--record", &out.record}, {"--against", &out.against}, {"--read", &out.read}, {"--filter", &out.filter}, {"--show", &out.show},
      {"--emulator", &out.emulator}, {"--compile", &out.compile}};
  const std::pair<const char*, bool*> flags[] = {{"--raw", &out.raw}, {"--compare", &out.compare}, {"--emulated", &out.emulated},
                                                 {"--coverage", &out.coverage}};
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    bool known = false;
    for (const auto& [name, flag] : flags)
      if (word == name) *flag = known = true;
    for (const auto& [name, text] : texts)
      if (word == name && i + 1 < count && !known) *text = words[++i], known = true;
    if (word == "--waves" && i + 1 < count) out.waves = static_cast<unsigned>(std::atoi(words[++i])), known = true;
    if (word == "--limit" && i + 1 < count) out.limit = std::atoi(words[++i]), known = true;
    if (!known) return false;
  }
  return true;
}

Libraries emulator(const Options& options) {
  std::string path = options.emulator;
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../lib/libtilert_emulator.so", "libtilert_emulator.so"})
    if (path.empty() && std::filesystem::exists(here / place)) path = (here / place).lexically_normal().string();
  return {path, path, 0};
}

int say(const std::string& wrong) {
  std::fprintf(stderr, "tilert_truth: %s\n", wrong.c_str());
  return 2;
}

int compile_all(const Options& options, const std::vector<Case>& cases) {
  Side side;
  if (const std::string wrong = side.open_compiler(options.libraries); !wrong.empty()) return say(wrong);
  size_t failed = 0;
  std::string image, done;
  for (const Case& one : cases) {
    if (one.text == done) continue;
    done = one.text;
    if (const std::string wrong = side.compile(one, options.compile, image); !wrong.empty()) {
      std::printf("%s %s\n", one.name.c_str(), wrong.c_str());
      ++failed;
    }
  }
  std::printf("%zu cases, %zu kernels do not compile\n", cases.size(), failed);
  return failed ? 1 : 0;
}

// What the cases leave on a side.
std::string record_side(const Libraries& libraries, const std::vector<Case>& cases, int limit, Record& out) {
  const Results results = run_all(libraries, cases, limit);
  if (results.wrong.empty()) out = record_of(cases, results);
  return results.wrong;
}

int report(const Options& options, const std::vector<Case>& cases, const Record& a, const Record* b) {
  size_t wrong = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (b && (a.cases[i].unseen || b->cases[i].unseen)) std::printf("UNSEEN %s: no GPU has run it for the record\n", cases[i].name.c_str());
    const std::string text = b ? difference(cases[i], a.cases[i], b->cases[i], options.show.empty() ? 4 : 100000) : a.cases[i].wrong;
    if (text.empty()) continue;
    ++wrong;
    std::printf("DIFFERS %-44s %s\n", cases[i].name.c_str(), text.c_str());
  }
  if (b)
    for (const std::string& name : b->unknown) std::printf("DIFFERS %-44s is in the record and is no case\n", name.c_str()), ++wrong;
  std::printf("%zu of %zu cases right: %s%s%s\n", cases.size() - std::min(wrong, cases.size()), cases.size(), a.device.c_str(), b ? " against " : "",
              b ? b->device.c_str() : "");
  return wrong ? 1 : 0;
}

int run(const Options& options, const std::vector<Case>& cases, const std::set<std::string>& skipped) {
  Record own, other;
  std::string wrong = options.read.empty() ? record_side(options.emulated ? emulator(options) : options.libraries, cases, options.limit, own)
                                           : read_record(options.read, cases, skipped, own);
  if (!wrong.empty()) return say(wrong);
  if (!options.record.empty()) wrong = write_record(options.record, cases, own, options.raw);
  if (wrong.empty() && options.compare) wrong = record_side(emulator(options), cases, options.limit, other);
  if (wrong.empty() && !options.against.empty()) wrong = read_record(options.against, cases, skipped, other);
  if (!wrong.empty()) return say(wrong);
  return report(options, cases, own, options.compare || !options.against.empty() ? &other : nullptr);
}

// AMD's waves beside the same GPU's warps.
int run_waves(const Options& options, std::vector<Case> cases) {
  std::erase_if(cases, [](const Case& one) { return one.map.rank || one.cluster > 1 || one.refused || !tilert::codegen::missing_primitive("hip", one.text).empty(); });
  for (Case& one : cases)
    if (one.numbers != Defined::bits) one.defined = one.numbers;
  Libraries libraries = emulator(options);
  Record cuda, hip;
  std::string wrong = record_side(libraries, cases, options.limit, cuda);
  libraries.lanes = options.waves;
  if (wrong.empty()) wrong = record_side(libraries, cases, options.limit, hip);
  return wrong.empty() ? report(options, cases, hip, &cuda) : say(wrong);
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (!parse(count, words, options)) return std::fputs(kUsage, stderr), 2;
  std::vector<Case> cases;
  std::set<std::string> skipped;
  for (Case& one : all_cases()) {
    const bool chosen = options.show.empty() ? one.name.find(options.filter) != std::string::npos : one.name == options.show;
    const std::string missing = missing_part(one);
    if (!missing.empty()) std::printf("SKIPPED %s: device/cuda has no %s\n", one.name.c_str(), missing.c_str());
    if (!chosen || !missing.empty()) skipped.insert(one.name);
    else cases.push_back(std::move(one));
  }
  if (cases.empty()) return say("no such case");
  if (options.waves) return run_waves(options, std::move(cases));
  if (options.coverage) return report_coverage(cases);
  if (!options.compile.empty()) return compile_all(options, cases);
  return run(options, cases, skipped);
}
