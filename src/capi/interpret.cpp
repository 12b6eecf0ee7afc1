// tilert_program_interpret: resolves dims, checks shapes and strides, and hands host buffers to the interpreter.
#include <optional>
#include <span>

#include "capi/diagnostics.h"
#include "capi/guard.h"
#include "ir/evaluate.h"
#include "ir/interpreter.h"
#include "support/refusal.h"

namespace tilert::capi {
namespace {

Status check_argument(const ir::Program& program, size_t i, const tilert_argument& argument) {
  const ir::Parameter& parameter = program.parameters[i];
  const bool tensor = parameter.kind == ir::Parameter::Kind::tensor;
  const bool table = tensor && ir::is_table(program.buffers[parameter.buffer]);
  if (argument.kind != (table ? TILERT_ARGUMENT_POINTER_TABLE : tensor ? TILERT_ARGUMENT_TENSOR : TILERT_ARGUMENT_SCALAR))
    return make_error(Code::kInvalidArgument, "argument {}: '{}' is a {}, and the argument is of kind {}", i, parameter.name,
                      table ? "table of pointers" : tensor ? "tensor" : "scalar", argument.kind);
  const DType dtype = tensor ? program.buffers[parameter.buffer].dtype : program.vars[parameter.var].dtype;
  if (argument.dtype != static_cast<tilert_dtype>(dtype))
    return make_error(Code::kShape, "argument {}: '{}' is {}, and the argument has dtype {}", i, parameter.name,
                      dtype_text(dtype), argument.dtype);
  const size_t rank = tensor ? program.buffers[parameter.buffer].shape.size() : 0;
  const bool described = argument.shape || argument.strides || argument.ndim != 0;
  if (tensor && described && argument.ndim != static_cast<int32_t>(rank))
    return make_error(Code::kShape, "argument {}: '{}' has rank {}, and the argument {}", i, parameter.name, rank,
                      argument.ndim);
  return {};
}

// Dims by index; what is left open follows from the shapes, and what the program bound is as bound.
Result<std::vector<int64_t>> resolve_dims(const ir::Program& program, std::span<const tilert_argument> arguments,
                                          std::span<const int64_t> given) {
  const size_t count = program.dims.size();
  if (!given.empty() && given.size() != count)
    return make_error(Code::kInvalidArgument, "{} dims are given; the program has {}", given.size(), count);
  std::vector<int64_t> dims(given.begin(), given.end());
  dims.resize(count, -1);
  for (size_t d = 0; d < count; ++d) {
    if (dims[d] < 0 && program.dims[d].value) dims[d] = *program.dims[d].value;
    for (size_t i = 0; i < arguments.size() && dims[d] < 0; ++i) {
      const ir::Parameter& parameter = program.parameters[i];
      if (parameter.kind != ir::Parameter::Kind::tensor || !arguments[i].shape) continue;
      const auto& shape = program.buffers[parameter.buffer].shape;
      for (size_t k = 0; k < shape.size(); ++k)
        if (shape[k]->is_variable() && shape[k]->var() == program.dims[d].var) dims[d] = arguments[i].shape[k];
    }
    if (dims[d] < 0)
      return make_error(Code::kShape, "dim '{}' is neither given nor known from a shape",
                        program.vars[program.dims[d].var].name);
  }
  return dims;
}

// The bit pattern of an expression over dims.
std::optional<uint64_t> evaluate(const ir::Program& program, ir::Expr expr, const std::vector<int64_t>& dims) {
  if (expr->is_variable()) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (program.dims[d].var == expr->var()) return static_cast<uint64_t>(dims[d]);
    return std::nullopt;
  }
  uint64_t operands[3] = {};
  for (int i = 0; i < expr->arity; ++i) {
    const auto operand = evaluate(program, expr->operand[i], dims);
    if (!operand) return std::nullopt;
    operands[i] = *operand;
  }
  return ir::evaluate(*expr, {operands, expr->arity});
}

Result<int64_t> size_of(const ir::Program& program, ir::Expr expr, const std::vector<int64_t>& dims) {
  const auto value = evaluate(program, expr, dims);
  if (!value) return make_error(Code::kInvalidProgram, "a size is not made of dims");
  return static_cast<int64_t>(*value);
}

Result<ir::HostArgument> host_tensor(const ir::Program& program, size_t i, const tilert_argument& argument,
                                     const std::vector<int64_t>& dims) {
  const ir::Buffer& buffer = program.buffers[program.parameters[i].buffer];
  ir::HostArgument out;
  int64_t last = 0;
  bool empty = false;
  int64_t contiguous = 1;
  std::vector<int64_t> strides(buffer.shape.size());
  for (size_t k = buffer.shape.size(); k-- > 0;) {
    TILERT_ASSIGN(const int64_t size, size_of(program, buffer.shape[k], dims));
    if (argument.shape && argument.shape[k] != size)
      return make_error(Code::kShape, "'{}': dim {} is {}, and the argument's is {}", buffer.name, k, size,
                        argument.shape[k]);
    if (k == 0 && ir::is_table(buffer)) {
      out.bytes = size * 8;
      continue;
    }
    TILERT_ASSIGN(strides[k], size_of(program, buffer.strides[k], dims));
    if (argument.strides)
      strides[k] = argument.strides[k];
    else if (argument.shape && buffer.contiguous)
      strides[k] = contiguous;
    if (strides[k] < 0) return make_error(Code::kShape, "'{}': stride {} is {}", buffer.name, k, strides[k]);
    const bool innermost = k + 1 == buffer.shape.size();
    if (dtype_is_packed(buffer.dtype) && size > 1 && (innermost ? strides[k] != 1 : strides[k] % dtype_group(buffer.dtype) != 0))
      return make_error(Code::kShape, "'{}': stride {} is {}: rows of {} start on a byte, multiples of {} elements", buffer.name,
                        k, strides[k], dtype_text(buffer.dtype), dtype_group(buffer.dtype));
    contiguous *= size;
    empty = empty || size == 0;
    last += (size - 1) * strides[k];
  }
  if (ir::is_table(buffer)) empty = out.bytes == 0;
  if (!argument.data && !empty) return make_error(Code::kInvalidArgument, "'{}' is NULL and has elements", buffer.name);
  out.data = argument.data;
  if (!ir::is_table(buffer)) out.bytes = empty ? 0 : ((last + 1) * dtype_bits(buffer.dtype) + 7) / 8;
  if (argument.strides) out.strides = std::move(strides);
  return out;
}

Status interpret(const ir::Program& program, std::span<const tilert_argument> arguments,
                 std::span<const int64_t> dims, ir::Reports* reports) {
  if (arguments.size() != program.parameters.size())
    return make_error(Code::kInvalidArgument, "{} arguments; the program takes {}", arguments.size(),
                      program.parameters.size());
  for (const ir::Kernel& kernel : program.kernels)
    if (kernel.source)
      return refusal("a source kernel has no tile program to interpret", "run it on its device");
  for (size_t i = 0; i < arguments.size(); ++i) TILERT_TRY(check_argument(program, i, arguments[i]));
  ir::HostArguments host;
  TILERT_ASSIGN(host.dims, resolve_dims(program, arguments, dims));
  for (size_t i = 0; i < arguments.size(); ++i) {
    ir::HostArgument one;
    if (program.parameters[i].kind == ir::Parameter::Kind::scalar) {
      one.scalar = arguments[i].bits;
    } else {
      TILERT_ASSIGN(one, host_tensor(program, i, arguments[i], host.dims));
    }
    host.parameters.push_back(std::move(one));
  }
  ir::InterpretOptions options;
  options.reports = reports;
  return ir::interpret(program, host, options);
}

// Where running stops at an error, what was reported before it comes first.
Status interpret_diagnosed(const ir::Program& program, std::span<const tilert_argument> arguments, std::span<const int64_t> dims,
                           tilert_on_diagnostic on_entry, void* user) {
  if (!on_entry) return make_error(Code::kInvalidArgument, "on_entry is NULL");
  ir::Reports reports;
  Status ran = interpret(program, arguments, dims, &reports);
  const ReportMap known = ir::canonical_reports(program);
  std::map<const ir::Stmt*, uint32_t> ordinals;
  for (const auto& [ordinal, stmt] : known) ordinals[stmt] = ordinal;
  std::vector<ir::ReportEntry> entries;
  for (const ir::Reports::Entry& e : reports.entries) {
    entries.push_back(e.entry);
    entries.back().ordinal = ordinals.at(e.stmt);
  }
  Status told = hand_out(program, known, entries, reports.lost, on_entry, user);
  return ran ? std::move(told) : std::move(ran);
}

}  // namespace
}  // namespace tilert::capi

using namespace tilert;

tilert_status tilert_program_interpret(tilert_program* program, const tilert_argument* arguments,
                                       uint32_t argument_count, const int64_t* dims, uint32_t dim_count,
                                       tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(program, "program"));
    return capi::interpret(*program->program, {arguments, arguments ? argument_count : 0},
                           {dims, dims ? dim_count : 0}, nullptr);
  });
}

tilert_status tilert_program_interpret_diagnosed(tilert_program* program, const tilert_argument* arguments,
                                                 uint32_t argument_count, const int64_t* dims, uint32_t dim_count,
                                                 tilert_on_diagnostic on_entry, void* user, tilert_error** error) noexcept {
  return capi::guard(error, [&]() -> Status {
    TILERT_TRY(capi::check(program, "program"));
    return capi::interpret_diagnosed(*program->program, {arguments, arguments ? argument_count : 0}, {dims, dims ? dim_count : 0},
                                     on_entry, user);
  });
}
