// Cutting and composing. The device's files and the twins come embedded (emulator_files.h).
#include "emulator/unit/text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "emulator_files.h"

namespace tilert::emulator {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Words outside comments and strings, with what follows them.
struct Word {
  std::string_view text;
  char next;  // the first character behind it that is no space
  int line;
};

template <class F>
void for_each_word(std::string_view text, int first_line, F&& f) {
  int line = first_line;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      ++i;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (i < text.size() && (is_word(text[i]) || text[i] == '.')) ++i;
    } else if (is_word(c)) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      size_t next = end;
      while (next < text.size() && text[next] == ' ') ++next;
      f(Word{text.substr(i, end - i), next < text.size() ? text[next] : '\0', line});
      i = end;
    } else {
      ++i;
    }
  }
}

std::vector<Part> cut(std::string_view file) {
  std::vector<Part> out;
  size_t at = file.find("//@ ");
  while (at != file.npos) {
    const size_t line_end = file.find('\n', at), next = file.find("//@ ", line_end);
    Part part;
    std::istringstream names{std::string(file.substr(at + 4, line_end - at - 4))};
    for (std::string name; names >> name;) part.names.push_back(name);
    part.text = file.substr(line_end + 1, next == file.npos ? next : next - line_end - 1);
    out.push_back(std::move(part));
    at = next;
  }
  return out;
}

std::string_view file(std::string_view name) {
  for (const auto& candidate : emulator_files::kFiles)
    if (candidate.name == name) return candidate.text;
  return {};
}

// Builtins that host.h has.
bool is_host_builtin(std::string_view word) {
  static const std::set<std::string_view> kNames = {"__uint_as_float", "__int_as_float", "__float_as_uint", "__clzll", "__fdiv_rn",
      "__fmaf_rn", "__fsqrt_rn", "__float2int_rz", "__float2ll_rz", "__CUDA_ARCH__", "__restrict__", "__grid_constant__",
      "__clang_major__", "__clang__"};
  return kNames.count(word) != 0 || (word.starts_with("__builtin_") && !word.starts_with("__builtin_amdgcn"));
}

bool is_device_word(std::string_view word) {
  static const std::set<std::string_view> kNames = {"asm", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "clock64"};
  return kNames.count(word) != 0 || (word.starts_with("__") && !is_host_builtin(word));
}

// What a device function of the program may say besides.
bool is_function_word(std::string_view word) { return word == "__device__" || word == "__forceinline__"; }

// Where a line starts so; npos: none does.
size_t line_of(std::string_view text, std::string_view start) {
  if (text.starts_with(start)) return 0;
  const size_t at = text.find("\n" + std::string(start));
  return at == text.npos ? at : at + 1;
}

constexpr std::string_view kFunction = "namespace tl_user_";

}  // namespace

KernelText kernel_text(std::string_view source) {
  KernelText out;
  const size_t kernels = line_of(source, "TL_KERNEL(");
  if (kernels == source.npos) return out;
  const size_t at = std::min(kernels, line_of(source, kFunction));
  out.hip = source.substr(0, at).find("amdgpu_flat_work_group_size") != source.npos;
  out.body = source.substr(at);
  out.first_line = 1 + static_cast<int>(std::count(source.begin(), source.begin() + static_cast<int64_t>(at), '\n'));
  for (size_t k = kernels - at; k != std::string::npos && k < out.body.size();) {
    const size_t name = out.body.find(") ", k) + 2, open = out.body.find('(', name);
    out.entries.push_back(out.body.substr(name, open - name));
    k = out.body.find("\nTL_KERNEL(", open);
    if (k != std::string::npos) ++k;
  }
  return out;
}

std::string broken_rule(const KernelText& text) {
  static const std::set<std::string_view> kCalls = {"if", "for", "while", "switch", "return", "int", "float", "bool", "reinterpret_cast",
                                                    "static_cast", "sizeof", "alignof", "const"};
  std::string wrong;
  const auto say = [&](int line, const std::string& what) {
    if (wrong.empty()) wrong = "line " + std::to_string(line) + ": " + what;
  };
  std::set<std::string> own(text.entries.begin(), text.entries.end());
  const size_t kernels = line_of(text.body, "TL_KERNEL(");
  for (size_t at = line_of(text.body, kFunction); at < kernels; at = text.body.find("\n" + std::string(kFunction), at)) {
    at = text.body.find('_', text.body.find("user", at)) + 1;
    own.insert(text.body.substr(at, text.body.find(' ', at) - at));
  }
  for_each_word(text.body, text.first_line, [&](const Word& word) {
    const std::string name(word.text);
    const bool of_function = word.text.data() < text.body.data() + kernels;  // which may return, and call what it defines
    if (of_function && (is_function_word(word.text) || !is_device_word(word.text))) return;
    if (is_device_word(word.text)) say(word.line, "'" + name + "': only primitives may say it");
    else if (name == "return" || name == "goto") say(word.line, "'" + name + "': a kernel's threads leave it at its end");
    else if (word.next == '(' && !word.text.starts_with("tl_") && !word.text.starts_with("TL_") && !kCalls.count(word.text) && !own.count(name))
      say(word.line, "'" + name + "' is called, and is no primitive");
  });
  std::istringstream lines(text.body);
  int number = text.first_line;
  for (std::string line; std::getline(lines, line); ++number) {
    const size_t first = line.find_first_not_of(' ');
    if (first != line.npos && line[first] == '#' && line.find("#pragma unroll") != first) say(number, "a preprocessor line");
  }
  return wrong;
}

std::string place_in(const KernelText& text, int line) {
  if (line < text.first_line) return {};
  std::vector<std::string> lines;
  std::istringstream in(text.body);
  for (std::string one; std::getline(in, one);) lines.push_back(one);
  for (int i = std::min<int>(line - text.first_line, static_cast<int>(lines.size()) - 1); i >= 0; --i) {
    const std::string& one = lines[static_cast<size_t>(i)];
    const size_t at = one.find_first_not_of(' ');
    if (at != one.npos && one.compare(at, 3, "// ") == 0) return one.substr(at + 3);
  }
  return {};
}

std::vector<Part> device_parts() {
  std::vector<Part> out;
  for (const char* name : {"types.cuh", "math.cuh", "fast.cuh", "wide.cuh", "small.cuh", "memory.cuh", "packed.cuh", "matrix.cuh", "hopper.cuh", "products.cuh",
                           "sync.cuh", "copies.cuh", "atomic.cuh", "report.cuh"})
    for (Part& part : cut(file(name))) out.push_back(std::move(part));
  return out;
}

std::vector<Part> hip_parts() {
  std::vector<Part> out;
  for (const char* name : {"types.hip", "math.hip", "wide.hip", "fast.hip", "memory.hip", "matrix.hip", "matrix_fp8.hip", "widen.hip", "sync.hip", "atomic.hip"})
    for (Part& part : cut(file(name))) out.push_back(std::move(part));
  return out;
}

std::vector<Part> hip_twin_parts() { return cut(file("twins.hip")); }

std::vector<Part> twin_parts() {
  std::vector<Part> out;
  for (const char* name : {"twins.cuh", "twins_fast.cuh", "twins_matrix.cuh", "twins_products.cuh", "twins_sync.cuh", "twins_copies.cuh"})
    for (Part& part : cut(file(name))) out.push_back(std::move(part));
  return out;
}

bool is_host_text(const Part& part) {
  bool host = true;
  for_each_word(part.text, 1, [&](const Word& word) { host &= !is_device_word(word.text); });
  return host;
}

std::vector<std::string> parts_without_host_form() {
  std::set<std::string> twins;
  for (const Part& part : twin_parts()) twins.insert(part.names.begin(), part.names.end());
  std::vector<std::string> out;
  for (const Part& part : device_parts())
    if (!twins.count(part.names[0]) && !is_host_text(part)) out.push_back(part.names[0]);
  return out;
}

namespace {

// What numbers a storage type is to matrix units, as soon as the type is known.
std::string number_of(const std::string& type) {
  static const std::map<std::string, std::string> kNumbers = {{"tl_f16", "f16"}, {"tl_bf16", "bf16"}, {"tl_tf32", "tf32"},
      {"tl_e4m3", "e4m3"}, {"tl_e5m2", "e5m2"}, {"tl_i8", "s8"}, {"tl_u8", "u8"}};
  const auto number = kNumbers.find(type);
  if (number == kNumbers.end()) return {};
  return "template <>\nstruct tlemu_number<" + type + "> { static constexpr int value = static_cast<int>(tilert::emulator::Number::" + number->second + "); };\n";
}

std::map<std::string, std::string> by_name(const std::vector<Part>& parts) {
  std::map<std::string, std::string> out;
  for (const Part& part : parts) out[part.names[0]] = part.text;
  return out;
}

}  // namespace

std::string prelude_text(bool hip) {
  // HIP's own text of numbers, which the host can run.
  static const std::set<std::string> kNumbers = {"tl_float", "tl_from_float", "tl_e4m3_value", "tl_e5m2_value", "tl_e4m3_code", "tl_e5m2_code", "tl_saturate_index"};
  const std::map<std::string, std::string> twins = by_name(twin_parts()), hip_twins = by_name(hip ? hip_twin_parts() : std::vector<Part>());
  const std::vector<Part> own = hip ? hip_parts() : std::vector<Part>(), cuda = device_parts();
  const std::map<std::string, std::string> known = by_name(cuda);
  std::string out = "#include \"emulator/cuda/host.h\"\n";
  std::set<std::string> left_out;  // what only parts without a host form use
  const auto add_own = [&](const Part& part) {
    const auto twin = hip_twins.find(part.names[0]);
    bool host = is_host_text(part);
    for_each_word(part.text, 1, [&](const Word& word) { host &= !left_out.count(std::string(word.text)); });
    if (twin != hip_twins.end()) out += twin->second;
    else if (host) out += part.text;
    else left_out.insert(part.names[0]);
  };
  for (const Part& part : cuda) {
    const std::string& name = part.names[0];
    const auto at = std::find_if(own.begin(), own.end(), [&](const Part& p) { return p.names[0] == name; });
    const auto twin = twins.find(name), hip_twin = hip_twins.find(name);
    if (at != own.end()) {  // what stands before it and has no place of its own
      size_t first = static_cast<size_t>(at - own.begin());
      while (first > 0 && !known.count(own[first - 1].names[0])) --first;
      for (; own[first].names[0] != name; ++first) add_own(own[first]);
    }
    if (hip_twin != hip_twins.end()) out += hip_twin->second;
    else if (at != own.end() && kNumbers.count(name) && is_host_text(*at)) out += at->text;
    else if (twin != twins.end()) out += twin->second;
    else out += at != own.end() && is_host_text(*at) ? at->text : part.text;
    out += number_of(name);
  }
  size_t tail = own.size();
  while (tail > 0 && !known.count(own[tail - 1].names[0])) --tail;
  for (; tail < own.size(); ++tail) add_own(own[tail]);
  return out;
}

// A bool's cast in functional form can make g++ take a condition for a declaration: `if (bool((f<T>(T(x), T(x)) < x) & y))`.
std::string with_static_casts(const std::string& body) {
  std::string out;
  size_t at = 0;
  for (size_t found = body.find("bool("); found != std::string::npos; found = body.find("bool(", at)) {
    const char before = found ? body[found - 1] : ' ';
    const bool word = std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_';
    out.append(body, at, found - at);
    out += word ? "static_cast<bool>(" : "bool(";
    at = found + 5;
  }
  return out.append(body, at);
}

std::string unit_text(const std::vector<KernelText>& texts) {
  std::string out = "#include \"prelude.h\"\n", entries;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string index = std::to_string(i), space = "tlemu_unit_" + index;
    out += "namespace " + space + " {\n#line " + std::to_string(texts[i].first_line) + " \"kernel " + index + "\"\n" + with_static_casts(texts[i].body) + "\n}\n";
    for (const std::string& name : texts[i].entries) {
      const std::string call = space + "::" + name;
      entries += "extern \"C\" __attribute__((visibility(\"default\"))) void tlemu_entry_" + index + "_" + name +
                 "(const unsigned char* bytes) { tlemu_run(&" + call + ", bytes); }\n";
      entries += "extern \"C\" __attribute__((visibility(\"default\"))) int tlemu_sizes_" + index + "_" + name +
                 "(unsigned* sizes, int most) { return tlemu_sizes(&" + call + ", sizes, most); }\n";
    }
  }
  return out + "#line 1 \"entries\"\n" + entries;
}

}  // namespace tilert::emulator
