// The tilert command: looks at tile programs in .tir files, what they become, and compiles them. No device is needed.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tilert.hpp"

namespace {

struct Arguments {
  std::string file, target = "cpu", stage = "source";
  std::vector<std::string> dims;
  bool allow_source = false, json = false;
};

// "M=4096" as a name and a value.
std::pair<std::string, int64_t> parse_dim(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) throw CLI::ValidationError("--dim", "write NAME=VALUE, not '" + text + "'");
  return {text.substr(0, at), std::stoll(text.substr(at + 1))};
}

tl::Program read_program(const Arguments& arguments) {
  std::ifstream file(arguments.file, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + arguments.file + "'");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return tl::Program::parse(text, arguments.file.c_str(), arguments.allow_source ? TILERT_ALLOW_SOURCE : 0).value();
}

tl::Kernel make_kernel(const Arguments& arguments) {
  const tl::Program program = read_program(arguments);
  tilert_context_options options{};
  options.cache_mode = TILERT_CACHE_OFF;
  options.flags = arguments.allow_source ? TILERT_ALLOW_SOURCE : 0;
  const tl::Context context = tl::Context::create(options).value();
  std::vector<std::pair<std::string, int64_t>> dims;
  for (const std::string& d : arguments.dims) dims.push_back(parse_dim(d));
  std::vector<tilert_dim_binding> bindings;
  for (const auto& [name, value] : dims) bindings.push_back({name.c_str(), value, nullptr, 0, 0});
  tilert_kernel_options kernel_options{};
  kernel_options.struct_size = sizeof kernel_options;
  kernel_options.target = arguments.target.c_str();
  kernel_options.dims = bindings.data();
  kernel_options.dim_count = static_cast<uint32_t>(bindings.size());
  tilert_kernel* kernel = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_kernel_create(context.get(), program.get(), &kernel_options, &kernel, &error);
  if (status != TILERT_OK) throw tl::Exception(tl::Error(status, error));
  return tl::Kernel(kernel, program);
}

template <class F>
void for_each_variant(const tl::Kernel& kernel, F&& f) {
  for (uint32_t i = 0; i < tilert_kernel_variant_count(kernel.get()); ++i) {
    tilert_variant* raw = nullptr;
    if (tilert_kernel_variant(kernel.get(), i, &raw) == TILERT_OK) f(tl::Variant(raw));
  }
}

void print_text(const Arguments& arguments) {
  for_each_variant(make_kernel(arguments), [&](const tl::Variant& v) { std::cout << v.text(arguments.stage.c_str()).value(); });
}

void explain(const Arguments& arguments) {
  const tilert_explain_format format = arguments.json ? TILERT_EXPLAIN_JSON : TILERT_EXPLAIN_TEXT;
  for_each_variant(make_kernel(arguments), [&](const tl::Variant& v) { std::cout << v.explain(format).value(); });
}

void print_keys(const Arguments& arguments) {
  for_each_variant(make_kernel(arguments), [](const tl::Variant& v) {
    std::cout << v.info().request_key << "  " << v.info().conditions << "\n";
  });
}

void compile(const Arguments& arguments) {
  const tl::Kernel kernel = make_kernel(arguments);
  tilert_error* error = nullptr;
  const tilert_status status = tilert_kernel_compile(kernel.get(), &error);
  if (status != TILERT_OK) throw tl::Exception(tl::Error(status, error));
  for_each_variant(kernel, [](const tl::Variant& v) {
    const tilert_variant_info info = v.info();
    std::cout << info.target << " [" << info.conditions << "] " << info.binary_bytes << " bytes, " << info.threads << " threads, "
              << info.registers << " registers, " << info.spill_bytes << " spilled, " << info.shared_bytes << " shared, "
              << static_cast<double>(info.compile_nanoseconds) / 1e6 << " ms\n";
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Looks at tile programs and what they become.");
  app.require_subcommand(1);
  const uint32_t version = tilert_version();
  app.set_version_flag("--version", "tilert " + std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
                                        std::to_string(version & 255));
  Arguments arguments;
  const auto add = [&](const char* name, const char* what, void (*run)(const Arguments&)) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_option("file", arguments.file, "a .tir file")->required();
    sub->add_option("--target", arguments.target, "sm_80, sm_90a, cpu, cpu:x86-64-v3, ...");
    sub->add_option("--dim", arguments.dims, "NAME=VALUE: gives a dim a value");
    sub->add_flag("--allow-source", arguments.allow_source, "take programs that hold source text");
    sub->callback([&arguments, run] { run(arguments); });
    return sub;
  };
  add("text", "prints the program at a stage", print_text)
      ->add_option("--stage", arguments.stage, "specialized, a pass (select, lower, ...), or source");
  add("explain", "prints how each variant is made, and why not otherwise", explain)
      ->add_flag("--json", arguments.json, "as JSON");
  add("key", "prints each variant's request key and conditions", print_keys);
  add("compile", "compiles each variant and prints what it takes", compile);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
