// Program text. What the parser takes prints, and parses again as the same; what the verifier takes is safe to
// interpret, and to hash.
#include <vector>

#include "fuzz/targets.h"
#include "ir/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "tilert.h"

namespace tilert::fuzz {
namespace {

// Small tensors, dims of 1 and 2: most programs stop with an error, none may do harm.
void interpret(const ir::Program& program) {
  std::vector<std::vector<uint8_t>> data;
  ir::HostArguments arguments;
  for (const ir::Parameter& p : program.parameters) {
    const bool table = p.kind == ir::Parameter::Kind::tensor && ir::is_table(program.buffer(p.buffer));  // of null pointers
    data.emplace_back(size_t{4096}, uint8_t{!table});
  }
  for (auto& d : data) arguments.parameters.push_back({d.data(), static_cast<int64_t>(d.size()), {}, 1});
  for (size_t i = 0; i < program.dims.size(); ++i)
    arguments.dims.push_back(program.dims[i].value.value_or(program.dims[i].divisible == 1 ? 2 : 0));
  ir::InterpretOptions options;
  options.max_statements = 20000;
  options.max_elements = 1 << 24;
  options.max_tile_bytes = 1 << 18;
  (void)ir::interpret(program, arguments, options);
}

void through_the_interface(const char* text, size_t size) {
  tilert_program* program = nullptr;
  tilert_error* error = nullptr;
  const tilert_status status = tilert_program_parse(text, size, "fuzz", TILERT_ALLOW_SOURCE, &program, &error);
  promise(status != TILERT_INTERNAL, "no text is our own fault");
  promise((status == TILERT_OK) == (program != nullptr), "a program comes with success alone");
  promise((status == TILERT_OK) == (error == nullptr), "an error comes with failure alone");
  if (program) {
    const char* hash = nullptr;
    promise(tilert_program_hash(program, &hash, nullptr) == TILERT_OK && hash, "a program has a hash");
    for (uint32_t i = 0; i < tilert_program_parameter_count(program); ++i) {
      tilert_parameter_info info{};
      info.struct_size = sizeof info;
      promise(tilert_program_parameter(program, i, &info) == TILERT_OK, "a parameter has a description");
    }
  }
  tilert_error_release(error);
  tilert_program_release(program);
}

}  // namespace

void parse_program(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  through_the_interface(text.data(), text.size());
  auto program = ir::parse(text, "fuzz");
  if (!program) return;
  const std::string printed = ir::print(*program);
  auto again = ir::parse(printed, "printed");
  promise(static_cast<bool>(again), "what was printed parses");
  promise(ir::print(*again) == printed, "printing again gives the same text");
  const Status valid = ir::verify(*program);
  promise(static_cast<bool>(ir::verify(*again)) == static_cast<bool>(valid), "the text keeps what is valid");
  if (valid) interpret(*program);
}

}  // namespace tilert::fuzz
