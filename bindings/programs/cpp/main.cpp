// twenty [NAME...]: a line for each program (all, or those named) on standard output, as README.md beside this folder says:
//   name request-key-for-the-CPU request-key-for-sm_90a digest-of-a-run
// --write FOLDER: writes each program's text to FOLDER/NAME.tir. --check FOLDER: compares them with it, and the keys of what
// is read from there with those of what is built.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "programs.h"

namespace programs {
namespace {

constexpr const char* kCpu = "cpu:x86-64";

// Memory aligned to 256 bytes, zeros.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : size_(bytes), words_(new uint64_t[bytes / 8 + 33]()) {
    const auto at = reinterpret_cast<uintptr_t>(words_.get());
    start_ = reinterpret_cast<unsigned char*>(words_.get()) + (256 - at % 256) % 256;
  }
  unsigned char* data() const { return start_; }
  uint64_t size() const { return size_; }

 private:
  uint64_t size_;
  std::unique_ptr<uint64_t[]> words_;
  unsigned char* start_;
};

int64_t elements_of(const Tensor& t) {
  int64_t count = 1;
  for (const int64_t size : t.shape) count *= size;
  return t.strides.empty() ? count : t.shape[0] * t.strides[0];
}

// ((7 i + 3 j) mod 17), i the element of the j-th tensor parameter.
void fill(const Memory& memory, tilert_dtype dtype, uint64_t count, uint64_t j) {
  const auto put = [&](uint64_t i, const auto& value) { std::memcpy(memory.data() + i * sizeof value, &value, sizeof value); };
  const uint32_t bits = tilert_dtype_bits(dtype);
  if (bits < 8) count = memory.size();
  for (uint64_t i = 0; i < count; ++i) {
    const auto n = static_cast<int>((7 * i + 3 * j) % 17);
    const float f = static_cast<float>(n - 8) / 8;
    uint32_t f_bits;
    std::memcpy(&f_bits, &f, sizeof f);
    switch (dtype) {
      case TILERT_F32: put(i, f); break;
      case TILERT_F64: put(i, static_cast<double>(f)); break;
      case TILERT_BF16: put(i, static_cast<uint16_t>(f_bits >> 16)); break;
      case TILERT_F16:  // the same exponent and mantissa, which both hold
        put(i, static_cast<uint16_t>(n == 8 ? 0 : (f_bits >> 16 & 0x8000) | (((f_bits >> 23 & 255) - 112) << 10) | (f_bits >> 13 & 0x3ff)));
        break;
      case TILERT_INT8: put(i, static_cast<int8_t>(n - 8)); break;
      case TILERT_INT32: put(i, static_cast<int32_t>(n - 8)); break;
      case TILERT_INT64: put(i, static_cast<int64_t>(n - 8)); break;
      case TILERT_UINT8: put(i, static_cast<uint8_t>(n)); break;
      case TILERT_UINT16: put(i, static_cast<uint16_t>(n)); break;
      case TILERT_UINT32: put(i, static_cast<uint32_t>(n)); break;
      case TILERT_E4M3: put(i, static_cast<uint8_t>(0x30 + n)); break;
      case TILERT_INT4: put(i, static_cast<uint8_t>(15 * n)); break;
      default: throw std::runtime_error(std::string("no rule fills ") + tilert_dtype_name(dtype));
    }
  }
}

void add_to_digest(uint64_t& digest, const Memory& memory) {
  for (uint64_t i = 0; i < memory.size(); ++i) digest = (digest ^ memory.data()[i]) * 0x100000001b3u;
}

tl::Kernel kernel_for(const tl::Context& context, const tl::Program& program, const Case& one, const char* target) {
  std::vector<tilert_dim_binding> bindings;
  for (const auto& [name, value] : one.bound) bindings.push_back({name.c_str(), value, nullptr, 0, 0});
  tilert_kernel_options options{};
  options.struct_size = sizeof options;
  options.target = target;
  options.dims = bindings.data();
  options.dim_count = static_cast<uint32_t>(bindings.size());
  tilert_kernel* kernel = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_kernel_create(context.get(), program.get(), &options, &kernel, &error);
  if (status != TILERT_OK) throw tl::Exception(tl::Error(status, error));
  return {kernel, program};
}

// Request keys of all variants.
std::string keys_of(const tl::Kernel& kernel) {
  std::string keys;
  for (uint32_t i = 0; i < kernel.variant_count(); ++i) keys += (i ? "+" : "") + std::string(kernel.variant(i).info().request_key);
  return keys;
}

// The arguments of one run and the memory behind them.
struct Arguments {
  std::vector<tilert_argument> list;
  std::vector<Memory> memory;  // of the tensors
  std::vector<bool> written;
  std::vector<std::vector<void*>> tables;
};

Arguments arguments_of(const tl::Program& program, const Case& one) {
  Arguments out;
  size_t tensor = 0, scalar = 0;
  for (uint32_t p = 0; p < tilert_program_parameter_count(program.get()); ++p) {
    tilert_parameter_info info{};
    info.struct_size = sizeof info;
    tilert_program_parameter(program.get(), p, &info);
    if (!info.is_tensor) {
      out.list.push_back(one.scalars.at(scalar++).raw());
      continue;
    }
    const Tensor& t = one.tensors.at(tensor);
    const auto count = static_cast<uint64_t>(elements_of(t));
    out.memory.emplace_back(count * tilert_dtype_bits(info.dtype) / 8);
    const Memory& memory = out.memory.back();
    out.written.push_back(info.access != TILERT_IN);
    if (info.access == TILERT_IN) fill(memory, info.dtype, count, tensor);
    ++tensor;
    tilert_argument a{};
    a.kind = TILERT_ARGUMENT_TENSOR;
    a.dtype = info.dtype;
    a.data = memory.data();
    a.shape = t.shape.data();
    a.strides = t.strides.empty() ? nullptr : t.strides.data();
    a.ndim = static_cast<int32_t>(t.shape.size());
    if (info.is_pointer_table) {
      const auto number = static_cast<uint64_t>(t.shape[0]);
      std::vector<void*> pointers;
      for (uint64_t g = 0; g < number; ++g) pointers.push_back(memory.data() + g * (memory.size() / number));
      out.tables.push_back(std::move(pointers));
      a.kind = TILERT_ARGUMENT_POINTER_TABLE;
      a.data = out.tables.back().data();
    }
    out.list.push_back(a);
  }
  return out;
}

// All dims by index: those of the launch and those that are bound.
std::vector<int64_t> dims_of(const tl::Program& program, const Case& one) {
  std::vector<int64_t> out;
  for (uint32_t d = 0; d < tilert_program_dim_count(program.get()); ++d) {
    out.push_back(-1);
    for (const Sizes* sizes : {&one.bound, &one.dims})
      for (const auto& [name, value] : *sizes)
        if (name == tilert_program_dim_name(program.get(), d)) out.back() = value;
  }
  return out;
}

// The greatest that a variant asks for.
tilert_workspace_info workspace_of(const tl::Kernel& kernel, const std::vector<int64_t>& dims) {
  tilert_workspace_info most{};
  for (uint32_t i = 0; i < kernel.variant_count(); ++i) {
    const tilert_workspace_info one = kernel.variant(i).workspace(dims).value();
    if (one.bytes > most.bytes) most = one;
  }
  return most;
}

uint64_t digest_of_run(const tl::Device& device, const tl::Program& program, const tl::Kernel& kernel, const Case& one) {
  const tl::Loaded loaded = kernel.prepare(device);
  const std::vector<int64_t> dims = dims_of(program, one);
  const Arguments arguments = arguments_of(program, one);
  const Memory workspace(workspace_of(kernel, dims).bytes);
  tilert_launch_failure failure{};
  failure.struct_size = sizeof failure;
  tilert_launch_info info{};
  info.struct_size = sizeof info;
  info.loaded = loaded.get();
  info.arguments = arguments.list.data();
  info.argument_count = static_cast<uint32_t>(arguments.list.size());
  info.dims = dims.data();
  info.dim_count = static_cast<uint32_t>(dims.size());
  info.workspace = workspace.size() ? workspace.data() : nullptr;
  info.workspace_bytes = workspace.size();
  info.failure = &failure;
  const tilert_status status = tilert_launch(&info);
  if (status != TILERT_OK) throw tl::Exception(tl::Error(status, failure.message));
  uint64_t digest = 0xcbf29ce484222325u;
  for (size_t i = 0; i < arguments.memory.size(); ++i)
    if (arguments.written[i]) add_to_digest(digest, arguments.memory[i]);
  return digest;
}

// A program's text without the places of its calls, which are no part of it: lines "location ..." and marks "!7".
std::string text_of(const tl::Program& program) {
  const std::string whole = program.text().value();
  std::string out;
  for (size_t at = 0, end; at < whole.size(); at = end) {
    end = whole.find('\n', at) + 1;
    std::string line = whole.substr(at, end - at);
    if (line.rfind("location ", 0) == 0) continue;
    const size_t mark = line.rfind("buffer ", 0) == 0 ? line.rfind(" !") : line.find('!');
    size_t past = mark;
    if (mark != std::string::npos && mark < line.find('"')) {
      for (past += line[mark] == ' ' ? 2 : 1; past < line.size() && std::isdigit(static_cast<unsigned char>(line[past]));) ++past;
      line.erase(mark, past - mark);
    }
    out += line;
  }
  return out;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Whether the text in the folder is this program's, and what is read from it has its keys.
bool check(const tl::Context& context, const tl::Program& program, const Case& one, const std::string& folder) {
  const std::string path = folder + "/" + one.name + ".tir", text = read(path);
  if (text != text_of(program)) {
    std::printf("%s is not the text of the program that is built: --write FOLDER makes it anew\n", path.c_str());
    return false;
  }
  const tl::Program again = tl::Program::parse(text, path.c_str(), TILERT_ALLOW_SOURCE).value();
  for (const char* target : {kCpu, "sm_90a"})
    if (keys_of(kernel_for(context, again, one, target)) != keys_of(kernel_for(context, program, one, target))) {
      std::printf("%s: read from its text it has another key for %s\n", one.name, target);
      return false;
    }
  return true;
}

int run(const std::vector<std::string>& words) {
  const std::string act = !words.empty() && words[0].rfind("--", 0) == 0 ? words[0] : "";
  if (!act.empty() && ((act != "--write" && act != "--check") || words.size() != 2))
    throw std::runtime_error("twenty [NAME...] | --write FOLDER | --check FOLDER");
  tilert_context_options options{};
  options.flags = TILERT_ALLOW_SOURCE;
  options.cache_mode = TILERT_CACHE_MEMORY;
  const tl::Context context(options);
  tl::Device device;
  bool right = true;
  for (const Case& one : all()) {
    if (act.empty() && !words.empty() && std::find(words.begin(), words.end(), one.name) == words.end()) continue;
    const tl::Program program = one.build();
    if (act == "--write") {
      std::ofstream(words[1] + "/" + one.name + ".tir", std::ios::binary) << text_of(program);
    } else if (act == "--check") {
      right = check(context, program, one, words[1]) && right;
    } else {
      if (!device) device = context.cpu();
      const tl::Kernel cpu = kernel_for(context, program, one, kCpu);
      const std::string keys = keys_of(cpu), gpu = keys_of(kernel_for(context, program, one, "sm_90a"));
      const auto digest = static_cast<unsigned long long>(digest_of_run(device, program, cpu, one));
      std::printf("%s %s %s %016llx\n", one.name, keys.c_str(), gpu.c_str(), digest);
    }
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace programs

int main(int argc, char** argv) {
  try {
    return programs::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
