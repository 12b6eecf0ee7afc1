// clang 19 and llvm-objdump run on sources; loops of products found in assembly by its labels and branches.
#include "conformance/hip_assembly.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

extern char** environ;

namespace tilert::conformance {
namespace {

constexpr const char *kClang = "/usr/bin/clang-19", *kDisassembler = "/usr/bin/llvm-objdump-19";

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// Empty, or what the command said.
std::string run_command(std::vector<std::string> command, const std::filesystem::path& log, const std::filesystem::path& out = "/dev/null") {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0 || waitpid(child, &status, 0) != child) status = -1;
  posix_spawn_file_actions_destroy(&actions);
  return status == 0 ? "" : "does not compile: " + file_text(log).substr(0, 2000);
}

// Cycles that the matrix unit of a SIMD is at an instruction (docs/amd.md); 0 of any other.
int64_t matrix_cycles(const std::string& name, const std::string& target) {
  struct Row {
    const char *target, *part;
    int64_t cycles;
  };
  static constexpr Row rows[] = {{"gfx90a", "_32x32x8", 64}, {"gfx90a", "_16x16x16", 32},  {"gfx942", "_32x32x8", 32},
                                 {"gfx942", "_16x16x16", 16}, {"gfx942", "_32x32x16", 32}, {"gfx942", "_16x16x32", 16}, {"gfx1100", "_16x16x16", 32}};
  if (!name.starts_with("v_mfma_f32") && !name.starts_with("v_wmma_f32")) return 0;
  for (const Row& row : rows)
    if (target == row.target && name.find(std::string(row.part) + "_") != name.npos) return row.cycles;
  // gfx90a's names end with the type, without a mark before it.
  for (const Row& row : rows)
    if (target == row.target && name.find(std::string(row.part) + "f") != name.npos) return row.cycles;
  for (const Row& row : rows)
    if (target == row.target && name.find(std::string(row.part) + "bf") != name.npos) return row.cycles;
  return 0;
}

}  // namespace

std::string missing_hip_tool() {
  for (const char* tool : {kClang, kDisassembler})
    if (!std::filesystem::exists(tool)) return tool;
  return {};
}

int64_t assembly_total(const std::string& text, const char* word) {
  int64_t sum = 0;
  const std::regex pattern(std::string(word) + R"(:\s*(\d+))");
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) sum += std::stoll((*at)[1]);
  return sum;
}

std::string hip_fault(const std::string& source, const std::string& target, std::string* assembly) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path(), base = folder / ("tilert_hip_" + std::to_string(getpid()));
  const std::filesystem::path in = base.string() + ".hip", out = base.string() + ".s", object = base.string() + ".o", log = base.string() + ".log";
  std::ofstream(in) << source;
  std::vector<std::string> command{kClang, "-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "--offload-arch=" + target, "-O3",
                                   "-std=c++17", "-Werror", "-Wno-unused-value", "-Wno-parentheses-equality", "-S", in, "-o", out};
  if (target.starts_with("gfx1")) command.push_back("-mcumode");
  std::string wrong = run_command(std::move(command), log);
  const std::string text = file_text(out);
  if (wrong.empty()) wrong = run_command({kClang, "-target", "amdgcn-amd-amdhsa", "-mcpu=" + target, "-c", out, "-o", object}, log);
  if (wrong.empty()) wrong = run_command({kDisassembler, "-d", "--mcpu=" + target, object}, log, in);
  if (wrong.empty() && file_text(in).find(".long") != std::string::npos) wrong = "an instruction that the target lacks";
  if (wrong.empty() && assembly_total(text, R"(\.vgpr_spill_count)") + assembly_total(text, R"(\.private_segment_fixed_size)") != 0) wrong = kSpills;
  for (const std::filesystem::path& file : {in, out, object, log}) std::filesystem::remove(file);
  if (assembly) *assembly = text;
  return wrong;
}

ProductLoop product_loop(const std::string& assembly, const std::string& target) {
  static const std::regex line(R"(^(?:(\.LBB\w+):|\t([a-z]\w*)\s*([^;\n]*)))");
  std::map<std::string, size_t> labels;
  std::vector<std::pair<std::string, std::string>> all;  // names and operands
  std::istringstream in(assembly);
  for (std::string text; std::getline(in, text);) {
    std::smatch found;
    if (!std::regex_search(text, found, line)) continue;
    if (found[1].matched) labels[found[1]] = all.size();
    else all.emplace_back(found[2], found[3]);
  }
  // The innermost loop of most products: from its head to its last branch back.
  size_t first = 0, last = 0;
  int64_t most = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].first.starts_with("s_cbranch") && all[i].first != "s_branch") continue;
    const auto to = labels.find(all[i].second.substr(0, all[i].second.find_first_of(" \t")));
    if (to == labels.end() || to->second > i) continue;
    int64_t products = 0;
    for (size_t k = to->second; k <= i; ++k) products += all[k].first.starts_with("v_mfma") || all[k].first.starts_with("v_wmma");
    if (products < most || products == 0) continue;
    first = to->second;
    last = i;
    most = products;
  }
  ProductLoop out;
  const int64_t issue = target.starts_with("gfx9") ? 4 : 1;
  for (size_t i = first; most && i <= last; ++i) {
    const int64_t cycles = matrix_cycles(all[i].first, target);
    out.products += cycles != 0;
    (cycles ? out.matrix_cycles : out.other_cycles) += cycles ? cycles : issue;
    out.text.push_back(all[i].first + " " + all[i].second);
  }
  return out;
}

}  // namespace tilert::conformance
