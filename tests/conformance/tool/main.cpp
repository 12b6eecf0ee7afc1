// tilert_conformance: the list of cases on one back end, for a machine that has the device and builds nothing.
//   tilert_conformance [--backend cuda|cpu|interpreter] [--filter TEXT] [--limit SECONDS] [--json FILE] [--sample] [--shard I/N]
//   tilert_conformance --sources TARGET [--json FILE]   digests of all generated sources; compiles nothing
//   tilert_conformance --show TEXT                      the programs of the cases that match, as text
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "conformance/tool/children.h"
#include "support/sha256.h"

namespace tilert::conformance {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Options {
  Backend backend = Backend::cuda;
  std::string filter, json, sources;
  int limit = 60;
  size_t shard = 0, shards = 1;  // of those chosen, every shards-th from this one on
  bool show = false, sample = false;
};

bool read_options(int argc, char** argv, Options& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--sample") {
      out.sample = true;
      continue;
    }
    if (++i >= argc) return false;
    const std::string value = argv[i];
    if (name == "--filter") out.filter = value;
    else if (name == "--json") out.json = value;
    else if (name == "--sources") out.sources = value;
    else if (name == "--show") out.show = true, out.filter = value;
    else if (name == "--limit") out.limit = std::atoi(value.c_str());
    else if (name == "--shard") {
      if (std::sscanf(value.c_str(), "%zu/%zu", &out.shard, &out.shards) != 2 || out.shard >= out.shards) return false;
    }
    else if (name != "--backend") return false;
    else if (value == "cuda") out.backend = Backend::cuda;
    else if (value == "cpu") out.backend = Backend::cpu;
    else if (value == "interpreter") out.backend = Backend::interpreter;
    else return false;
  }
  return true;
}

std::vector<Trial> chosen(const Options& options) {
  std::vector<Trial> out;
  for (Trial& trial : options.sample ? sampled_trials() : all_trials())
    if (trial.text().find(options.filter) != std::string::npos && (!trial.row->heavy || options.backend == Backend::cuda)) out.push_back(std::move(trial));
  std::vector<Trial> own;
  for (size_t i = options.shard; i < out.size(); i += options.shards) own.push_back(std::move(out[i]));
  return own;
}

void write_json(const std::string& path, const OrderedJson& json) {
  if (!path.empty()) std::ofstream(path) << json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

// The sources of one trial's programs for a target, generated and not compiled.
std::string sources_of(tilert_context* context, const Trial& trial, const char* target) {
  const Scenario scenario = trial.row->make(trial.values);
  std::string out;
  for (auto program : scenario.programs) {
    if (!program) continue;
    const KernelRequest request(scenario, target);
    tilert_kernel* kernel = nullptr;
    if (tilert_kernel_create(context, program->get(), &request.options, &kernel, nullptr)) continue;
    for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel); ++i) {
      tilert_variant* raw = nullptr;
      if (tilert_kernel_variant(kernel, i, &raw)) continue;
      const tl::Variant variant(raw);
      const auto text = variant.text();
      out += text ? *tl::Result<std::string>(text) : text.error().message();
    }
    tilert_kernel_release(kernel);
  }
  return out;
}

int list_sources(const Options& options) {
  auto context = test_context();
  if (!context) return std::fprintf(stderr, "%s\n", context.error().text().c_str()), 2;
  OrderedJson trials = OrderedJson::object();
  std::string all;
  for (const Trial& trial : chosen(options)) {
    const std::string digest = sha256_hex(sources_of(context->get(), trial, options.sources.c_str()));
    trials[trial.text()] = digest.substr(0, 16);
    all += digest;
  }
  const std::string digest = sha256_hex(all);
  std::printf("%zu cases for %s: %s\n", trials.size(), options.sources.c_str(), digest.c_str());
  write_json(options.json, {{"target", options.sources}, {"digest", digest}, {"sources", trials}});
  return 0;
}

int show(const Options& options) {
  for (const Trial& trial : chosen(options))
    for (auto program : trial.row->make(trial.values).programs) {
      std::printf("# %s\n", trial.text().c_str());
      if (!program) std::printf("# does not build: %s\n", program.error().text().c_str());
      else if (auto text = program->text()) std::printf("%s\n", text->c_str());
    }
  return 0;
}

int run(const Options& options) {
  const std::vector<Trial> trials = chosen(options);
  Machines machine;
  size_t wrong = 0, number = 0, apart = 0;
  OrderedJson rows = OrderedJson::array();
  const auto told = [&](size_t i, const Report& report) {
    const Outcome& o = report.outcome;
    ++number;
    apart += o.apart;
    if (o.apart) return;
    if (!o.ok) ++wrong;
    std::printf("%-5s %-80s error %.3g (%.2f of tolerance) registers %u spills %u compile %.0f ms\n", o.ok ? "right" : "WRONG",
                trials[i].text().c_str(), o.worst, o.worst_share, o.registers, o.spill_bytes, o.compile_ms);
    if (!o.ok) std::printf("      %.1500s\n", o.message.c_str());
    std::fflush(stdout);
    rows.push_back({{"position", i * options.shards + options.shard}, {"case", trials[i].row->number}, {"name", trials[i].row->name}, {"values", trials[i].values.text()},
                    {"backend", backend_name(options.backend)}, {"ok", o.ok}, {"message", o.message}, {"max_error", o.worst},
                    {"share_of_tolerance", o.worst_share}, {"registers", o.registers}, {"spills", o.spill_bytes},
                    {"compile_ms", o.compile_ms}, {"digest", o.digest}});
  };
  run_in_children(trials, options.backend, options.limit, machine, told);
  if (!machine.why_not.empty()) return std::fprintf(stderr, "%s\n", machine.why_not.c_str()), 2;
  std::printf("%zu of %zu right on %s (%s)%s\n", number - apart - wrong, trials.size() - apart, machine.device.c_str(), backend_name(options.backend),
              apart ? (", " + std::to_string(apart) + " are not for it").c_str() : "");
  write_json(options.json, {{"backend", backend_name(options.backend)}, {"device", machine.device}, {"target", machine.target},
                            {"right", number - apart - wrong}, {"total", trials.size() - apart}, {"trials", rows}});
  return wrong == 0 && number == trials.size() ? 0 : 1;
}

}  // namespace
}  // namespace tilert::conformance

int main(int argc, char** argv) {
  using namespace tilert::conformance;
  Options options;
  if (!read_options(argc, argv, options)) return std::fprintf(stderr, "options: see the head of tests/conformance/tool/main.cpp\n"), 2;
  if (!options.sources.empty()) return list_sources(options);
  return options.show ? show(options) : run(options);
}
