// tilert_random: random programs on chosen back ends, for as long as one likes; or a case of a file again.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ir/printer.h"
#include "random/campaign.h"
#include "random/generator.h"
#include "random/shrink.h"

namespace tilert::random {
namespace {

const char kUsage[] =
    "tilert_random [--seed N] [--count M] [--backend NAME]... [--seconds S] [--findings F] [--coverage] [--no-shrink]\n"
    "              [--batch B] [--limit S] [--shrink-limit S] [--json FILE]   cases compiled together; seconds for all\n"
    "tilert_random --print N                the program of a seed\n"
    "tilert_random --run FILE.tir [--backend NAME]... [--shrink]\n"
    "tilert_random --run FILE.tir --source TARGET[/PASS]   the text generated for it\n"
    "back ends:";

struct Options {
  Campaign campaign{0, 100, {}};
  bool coverage = false, shrink = true, print = false, shrink_file = false;
  int shrink_limit = 240;
  std::string file, source, json;
};

int usage() {
  std::fputs(kUsage, stderr);
  for (const BackendRow& row : all_backends())
    std::fprintf(stderr, " %s%s", row.name.c_str(), row.usual ? "" : " (when named)");
  std::fputs("\n", stderr);
  return 2;
}

bool read(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (word == "--seed")
      o.campaign.first = number();
    else if (word == "--count")
      o.campaign.count = number();
    else if (word == "--backend" && i + 1 < argc)
      o.campaign.backends.push_back(argv[++i]);
    else if (word == "--seconds")
      o.campaign.seconds = static_cast<int>(number());
    else if (word == "--batch")
      o.campaign.batch = std::max<size_t>(1, number());
    else if (word == "--limit")
      o.campaign.limit = static_cast<int>(number());
    else if (word == "--shrink-limit")
      o.shrink_limit = static_cast<int>(number());
    else if (word == "--json" && i + 1 < argc)
      o.json = argv[++i];
    else if (word == "--findings")
      o.campaign.max_findings = number();
    else if (word == "--coverage")
      o.coverage = true;
    else if (word == "--no-shrink")
      o.shrink = false;
    else if (word == "--shrink")
      o.shrink_file = true;
    else if (word == "--print")
      o.print = true, o.campaign.first = number();
    else if (word == "--source" && i + 1 < argc)
      o.source = argv[++i];
    else if (word == "--run" && i + 1 < argc)
      o.file = argv[++i];
    else
      return false;
  }
  if (o.campaign.backends.empty()) o.campaign.backends = usual_backends();
  return true;
}

void tell(const Finding& finding, const Case& c, bool shrunk) {
  std::printf("seed %llu on %s: %s\n%s%s\n", static_cast<unsigned long long>(finding.seed), finding.backend.c_str(),
              finding.message.c_str(), shrunk ? "shrunk:\n" : "", to_text(c).c_str());
  std::fflush(stdout);
}

int run_file(const Options& o) {
  std::ifstream in(o.file);
  std::stringstream text;
  text << in.rdbuf();
  auto c = from_text(text.str());
  if (!c) return std::fprintf(stderr, "%s\n", c.error().message.c_str()), 2;
  if (!o.source.empty()) return std::puts(source_of(*c, o.source).c_str()), 0;
  const auto found = check_in_child(*c, o.campaign.backends, o.campaign.seconds);
  if (!found) return std::puts("no difference"), 0;
  tell(*found, o.shrink_file ? shrink(*c, *found, o.campaign.seconds) : copy_of(*c), o.shrink_file);
  return 1;
}

nlohmann::json told_of(const Finding& finding, const Case& c, bool shrunk) {
  return {{"seed", finding.seed}, {"backend", finding.backend}, {"message", finding.message},
          {"crashed", finding.crashed}, {"shrunk", shrunk}, {"tir", to_text(c)}};
}

void write_json(const Options& o, const CampaignResult& result, const nlohmann::json& told) {
  if (o.json.empty()) return;
  std::ofstream(o.json) << nlohmann::json{{"programs", result.done}, {"backends", o.campaign.backends},
                                          {"findings", told}, {"coverage", result.coverage.counts()}}
                               .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
                        << "\n";
}

int run_seeds(const Options& o) {
  const CampaignResult result = run_campaign(o.campaign);
  if (!result.why_not.empty()) return std::fprintf(stderr, "%s\n", result.why_not.c_str()), 2;
  nlohmann::json told = nlohmann::json::array();
  for (const Finding& finding : result.findings) told.push_back(told_of(finding, generate(finding.seed), false));
  write_json(o, result, told);  // what follows may take longer than somebody waits
  std::set<std::string> kinds;  // one of each fault is made smaller
  for (size_t i = 0; i < result.findings.size(); ++i) {
    const Finding& finding = result.findings[i];
    Case c = generate(finding.seed);
    const bool shrinks = o.shrink && kinds.insert(finding.backend + kind_of(finding)).second;
    if (shrinks) c = shrink(c, finding, o.campaign.seconds, o.shrink_limit);
    tell(finding, c, shrinks);
    told[i] = told_of(finding, c, shrinks);
  }
  write_json(o, result, told);
  if (o.coverage) std::fputs(result.coverage.report().c_str(), stdout);
  const int64_t programs = result.coverage.count("programs");
  const int64_t twice = result.coverage.count("programs with a pipelined loop that uses a copy twice or more");
  std::printf("%llu programs, %zu findings, %lld %% with a pipelined loop that uses a copy twice or more\n",
              static_cast<unsigned long long>(result.done), result.findings.size(),
              static_cast<long long>(programs ? 100 * twice / programs : 0));
  return result.findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tilert::random

int main(int argc, char** argv) {
  using namespace tilert::random;
  Options o;
  if (!read(argc, argv, o)) return usage();
  if (o.print) return std::fputs(to_text(generate(o.campaign.first)).c_str(), stdout), 0;
  return o.file.empty() ? run_seeds(o) : run_file(o);
}
