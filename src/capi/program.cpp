// Programs: text, hash, introspection. Interpretation is in interpret.cpp.
#include "capi/guard.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "support/sha256.h"

using namespace tilert;

tilert_program::tilert_program(std::shared_ptr<const ir::Program> p)
    : program(std::move(p)), has_source(ir::holds_source(*program)) {}

void tilert_program_retain(tilert_program* program) noexcept { capi::retain(program); }
void tilert_program_release(tilert_program* program) noexcept { capi::release(program); }

tilert_status tilert_program_parse(const char* text, size_t size, const char* name, uint32_t flags,
                                   tilert_program** out, tilert_error** error) noexcept {
  if (out) *out = nullptr;
  return capi::guard(error, [&]() -> Status {
    if (!text || !out) return make_error(Code::kInvalidArgument, "{} is NULL", text ? "program" : "text");
    if (flags & ~uint32_t{TILERT_ALLOW_SOURCE}) return make_error(Code::kInvalidArgument, "unknown flags {:#x}", flags);
    const ir::ParseOptions options{.allow_source = (flags & TILERT_ALLOW_SOURCE) != 0};
    TILERT_ASSIGN(ir::Program parsed, ir::parse({text, size}, name ? name : "program", options));
    TILERT_TRY(ir::verify(parsed));
    auto program = std::make_shared<const ir::Program>(std::move(parsed));
    *out = new tilert_program(std::move(program));
    return {};
  });
}

tilert_status tilert_program_text(tilert_program* program, const char** text, size_t* size,
                                  tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(program, "program"));
    if (!text || !size) return make_error(Code::kInvalidArgument, "{} is NULL", text ? "size" : "text");
    const std::lock_guard lock(program->mutex);
    if (!program->text) program->text = ir::print(*program->program);
    *text = program->text->c_str();
    *size = program->text->size();
    return {};
  });
}

tilert_status tilert_program_hash(tilert_program* program, const char** hash, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(program, "program"));
    if (!hash) return make_error(Code::kInvalidArgument, "hash is NULL");
    const std::lock_guard lock(program->mutex);
    if (!program->hash) program->hash = sha256_hex(ir::canonical_text(*program->program));
    *hash = program->hash->c_str();
    return {};
  });
}

int tilert_program_has_source(const tilert_program* program) noexcept { return program && program->has_source; }

uint32_t tilert_program_parameter_count(const tilert_program* program) noexcept {
  return program ? static_cast<uint32_t>(program->program->parameters.size()) : 0;
}

tilert_status tilert_program_parameter(const tilert_program* handle, uint32_t index,
                                       tilert_parameter_info* out) noexcept {
  return capi::guard(nullptr, [&]() -> Status {
    TILERT_TRY(capi::check(handle, "program"));
    const ir::Program& program = *handle->program;
    if (index >= program.parameters.size())
      return make_error(Code::kInvalidArgument, "there is no parameter {}", index);
    const ir::Parameter& parameter = program.parameters[index];
    tilert_parameter_info info{};
    info.name = parameter.name.c_str();
    if (parameter.kind == ir::Parameter::Kind::scalar) {
      info.dtype = static_cast<tilert_dtype>(program.vars[parameter.var].dtype);
      return capi::put(out, info, "tilert_parameter_info");
    }
    const ir::Buffer& buffer = program.buffers[parameter.buffer];
    info.is_tensor = 1;
    info.dtype = static_cast<tilert_dtype>(buffer.dtype);
    info.access = buffer.direction == ir::Direction::in    ? TILERT_IN
                  : buffer.direction == ir::Direction::out ? TILERT_OUT
                                                           : TILERT_INOUT;
    info.rank = static_cast<uint32_t>(buffer.shape.size());
    info.alignment = static_cast<uint32_t>(buffer.alignment);
    info.is_pointer_table = ir::is_table(buffer);
    return capi::put(out, info, "tilert_parameter_info");
  });
}

uint32_t tilert_program_dim_count(const tilert_program* program) noexcept {
  return program ? static_cast<uint32_t>(program->program->dims.size()) : 0;
}
const char* tilert_program_dim_name(const tilert_program* program, uint32_t index) noexcept {
  if (!program || index >= program->program->dims.size()) return nullptr;
  return program->program->vars[program->program->dims[index].var].name.c_str();
}
