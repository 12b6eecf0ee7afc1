// Device functions: their declarations, and calls of them.
#include <algorithm>
#include <cstring>

#include "builder/builder.h"
#include "ir/words.h"

namespace tilert::builder {
namespace {

constexpr size_t kMaxFunctionText = size_t{16} << 20;
constexpr size_t kMaxFunctionName = 255;
constexpr uint32_t kMaxFunctions = 1024, kMaxFunctionOperands = 64, kMaxTexts = 8;

Result<std::string> short_text(const char* from, size_t most, const std::string& what) {
  if (!from) return make_error(Code::kInvalidArgument, "{} is NULL", what);
  const size_t size = strnlen(from, most + 1);
  if (size == 0 || size > most) return make_error(Code::kInvalidArgument, "{} is {}", what, size == 0 ? "empty" : fmt::format("longer than {} bytes", most));
  return std::string(from, size);
}

Result<DType> dtype_of(tilert_dtype dtype, const std::string& what) {
  if (dtype > 0 && dtype <= 255 && dtype_is_known(static_cast<DType>(dtype))) return static_cast<DType>(dtype);
  return make_error(Code::kInvalidArgument, "{}: {} is not a dtype", what, dtype);
}

Result<ir::DeviceFunction> function_of(const tilert_device_function& given) {
  ir::DeviceFunction out;
  TILERT_ASSIGN(out.name, short_text(given.name, kMaxFunctionName, "the function's name"));
  if (given.parameter_count > kMaxFunctionOperands || (given.parameter_count && !given.parameters))
    return make_error(Code::kInvalidArgument, "function '{}' has {} parameters: give at most {}, and their array", out.name, given.parameter_count,
                      kMaxFunctionOperands);
  if (given.text_count < 1 || given.text_count > kMaxTexts || !given.texts)
    return make_error(Code::kInvalidArgument, "function '{}' has {} texts: give one for each of \"cuda\" and \"llvm\" that it is compiled for",
                      out.name, given.text_count);
  for (uint32_t i = 0; i < given.parameter_count; ++i) {
    const tilert_function_parameter& p = given.parameters[i];
    const std::string what = fmt::format("function '{}': parameter {}", out.name, i);
    if (p.passing < TILERT_BY_VALUE || p.passing > TILERT_BY_UPDATE_POINTER)
      return make_error(Code::kInvalidArgument, "{}: {} is no way to pass an operand", what, p.passing);
    TILERT_ASSIGN(const DType dtype, dtype_of(p.dtype, what));
    out.parameters.push_back({dtype, static_cast<ir::Passing>(p.passing)});
  }
  if (given.result != 0) {
    TILERT_ASSIGN(out.result, dtype_of(given.result, fmt::format("function '{}': the result", out.name)));
  }
  for (uint32_t i = 0; i < given.text_count; ++i) {
    const std::string what = fmt::format("function '{}': text {}", out.name, i);
    TILERT_ASSIGN(std::string language, short_text(given.texts[i].language, 16, what + "'s language"));
    if (!ir::is_source_language(language))
      return make_error(Code::kInvalidArgument, "{}: the language '{}' is none of \"cuda\", \"hip\" and \"llvm\"", what, language);
    TILERT_ASSIGN(std::string text, short_text(given.texts[i].text, kMaxFunctionText, what));
    out.texts.emplace_back(std::move(language), std::move(text));
  }
  std::sort(out.texts.begin(), out.texts.end());  // whatever order they came in, one key
  return out;
}

}  // namespace

tilert_function Builder::device_function(const tilert_device_function& given) {
  return make<tilert_function>("device function", [&]() -> Result<tilert_function> {
    TILERT_ASSIGN(ir::DeviceFunction made, function_of(given));
    TILERT_TRY(ir::check_function(made));
    std::vector<ir::DeviceFunction>& known = program_->functions;
    for (uint32_t i = 0; i < known.size(); ++i) {
      if (known[i].name != made.name) continue;
      if (known[i] == made) return make_id<tilert_function>(serial_, i);
      return make_error(Code::kInvalidProgram, "another function '{}' is declared: give this one a name of its own", made.name);
    }
    if (known.size() >= kMaxFunctions) return make_error(Code::kInvalidProgram, "a program has at most {} device functions", kMaxFunctions);
    known.push_back(std::move(made));
    return make_id<tilert_function>(serial_, static_cast<uint32_t>(known.size() - 1));
  });
}

Result<ir::DeviceOperand> Builder::operand_of(const tilert_operand& given, ir::DeviceFunction::Parameter parameter, const std::string& what) {
  ir::DeviceOperand out{parameter.passing, nullptr, {}};
  if (parameter.passing == ir::Passing::value) {
    if (given.place) return make_error(Code::kInvalidArgument, "{} is taken by value: load the element, and give no place", what);
    TILERT_ASSIGN(const Value found, value(given.value, what));
    if (found.expr && found.expr->dtype == DType::index && parameter.dtype == DType::int64) {
      out.value = program_->arena->cast(found.expr, DType::int64);
    } else {
      TILERT_ASSIGN(out.value, adopt(found, parameter.dtype, what));
    }
    return out;
  }
  if (!given.place) return make_error(Code::kInvalidArgument, "{} is taken by pointer: give a place, one element of a buffer", what);
  TILERT_ASSIGN(out.at, access(given.place, what));
  const ir::Buffer& buffer = program_->buffers[out.at.buffer];
  if (buffer.dtype != parameter.dtype)
    return make_error(Code::kInvalidProgram, "{} is an element of {}, which holds {}; a pointer to {} is needed", what, text_of(out.at.buffer),
                      dtype_text(buffer.dtype), dtype_text(parameter.dtype));
  if (buffer.scope == ir::Scope::fragment)
    return make_error(Code::kInvalidProgram, "{} is an element of the fragment {}, which lies in one thread's registers: pass its value, or copy "
                      "it to a var or a shared tile", what, text_of(out.at.buffer));
  const bool reads = ir::reads_through(parameter.passing), writes = ir::writes_through(parameter.passing);
  TILERT_TRY(use(out.at.buffer, reads && writes ? Use::update : writes ? Use::write : Use::read, what));
  if (writes) TILERT_TRY(check_race(out.at));
  return out;
}

Result<ir::CallDevice> Builder::call_of(tilert_function id, const tilert_operand* operands, uint32_t count, bool asked) {
  TILERT_ASSIGN(const uint32_t at, find(id, program_->functions.size(), "the function"));
  const ir::DeviceFunction& function = program_->functions[at];
  if (count != function.parameters.size() || (count && !operands))
    return make_error(Code::kInvalidArgument, "function '{}' takes {} operands, {} are given", function.name, function.parameters.size(), count);
  if (asked && function.result == DType::none)
    return make_error(Code::kInvalidArgument, "function '{}' gives no value: give no room for one, or declare its result", function.name);
  ir::CallDevice made;
  made.function = at;
  for (uint32_t i = 0; i < count; ++i) {
    TILERT_ASSIGN(ir::DeviceOperand operand, operand_of(operands[i], function.parameters[i], fmt::format("operand {} of '{}'", i, function.name)));
    made.operands.push_back(std::move(operand));
  }
  return made;
}

Code Builder::call_device(tilert_function function, const tilert_operand* operands, uint32_t count, tilert_expr* result) {
  return run("call of a device function", [&]() -> Status {
    TILERT_TRY(need_statements());
    TILERT_ASSIGN(ir::CallDevice made, call_of(function, operands, count, result != nullptr));
    if (result) {
      const ir::DeviceFunction& called = program_->functions[made.function];
      TILERT_ASSIGN(*result, add_variable(ir::VarKind::let, called.result, called.name, {}, &made.var));
    }
    append(std::move(made));
    return {};
  });
}

}  // namespace tilert::builder
