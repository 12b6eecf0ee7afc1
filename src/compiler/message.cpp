// Writing and reading of flat messages.
#include "compiler/message.h"

#include "compiler/flat.h"

namespace tilert {
namespace {

constexpr std::string_view kRequestMagic = "TLRTREQ1";
constexpr std::string_view kBinaryMagic = "TLRTBIN1";

// Never reuse a number.
enum RequestTag : uint32_t {
  kLanguage = 1,
  kOutput,
  kTarget,
  kProgramName,
  kSource,
  kHeaderName,
  kHeaderText,
  kOption,
  kNameExpression,
  kEntryName,
  kDeadline,
  kForeign,
};
enum BinaryTag : uint32_t {
  kKind = 1,
  kBytes,
  kLog,
  kCompiler,
  kLoweredExpression,
  kLoweredName,
  kResourceEntry,
  kResourceNumbers,
  kNote,
  kCompileMs,
  kTotalMs,
};

Error bad_message(std::string_view what) {
  return make_error(Code::kCorrupt, "not a message of this version of the library: {}", what);
}

bool read_language(uint64_t value, Language& out) {
  out = static_cast<Language>(value);
  return value >= 1 && value <= 3;
}

bool read_kind(uint64_t value, BinaryKind& out) {
  out = static_cast<BinaryKind>(value);
  return value >= 1 && value <= 4;
}

std::string pack_numbers(const KernelResources& r) {
  std::string out;
  for (uint32_t value : {r.registers, r.stack_bytes, r.spill_stores, r.spill_loads, r.static_shared, r.barriers})
    flat::append_u64(out, value);
  return out;
}

bool unpack_numbers(std::string_view bytes, KernelResources& r) {
  uint32_t* fields[] = {&r.registers, &r.stack_bytes, &r.spill_stores, &r.spill_loads, &r.static_shared, &r.barriers};
  if (bytes.size() != 8 * std::size(fields)) return false;
  for (size_t i = 0; i < std::size(fields); ++i)
    *fields[i] = static_cast<uint32_t>(flat::load_u64(bytes.substr(8 * i, 8)));
  return true;
}

bool take_request_field(CompileRequest& request, const flat::Field& field) {
  std::string text(field.bytes);
  uint64_t number = field.bytes.size() == 8 ? flat::load_u64(field.bytes) : 0;
  switch (field.tag) {
    case kLanguage: return read_language(number, request.language);
    case kOutput: return read_kind(number, request.output);
    case kTarget: return request.target = text, true;
    case kProgramName: return request.program_name = text, true;
    case kSource: return request.source = text, true;
    case kHeaderName: return request.headers.push_back({text, {}}), true;
    case kHeaderText: return !request.headers.empty() && (request.headers.back().text = text, true);
    case kOption: return request.options.push_back(text), true;
    case kNameExpression: return request.name_expressions.push_back(text), true;
    case kEntryName: return request.entry_names.push_back(text), true;
    case kDeadline: return request.deadline_ms = number, field.bytes.size() == 8;
    case kForeign: return request.foreign = true, field.bytes.empty();
    default: return false;
  }
}

bool take_binary_field(Binary& binary, const flat::Field& field) {
  std::string text(field.bytes);
  uint64_t number = field.bytes.size() == 8 ? flat::load_u64(field.bytes) : 0;
  switch (field.tag) {
    case kKind: return read_kind(number, binary.kind);
    case kBytes: return binary.bytes = text, true;
    case kLog: return binary.log = text, true;
    case kCompiler: return binary.compiler = text, true;
    case kLoweredExpression: return binary.lowered_names.push_back({text, {}}), true;
    case kLoweredName: return !binary.lowered_names.empty() && (binary.lowered_names.back().name = text, true);
    case kResourceEntry: return binary.resources.push_back({text}), true;
    case kResourceNumbers: return !binary.resources.empty() && unpack_numbers(field.bytes, binary.resources.back());
    case kNote: return binary.performance_notes.push_back(text), true;
    case kCompileMs: return binary.compile_ms = flat::to_double(number), true;
    case kTotalMs: return binary.total_ms = flat::to_double(number), true;
    default: return false;
  }
}

template <class Value, class Take>
Result<Value> parse(std::string_view message, std::string_view magic, Take take) {
  flat::Reader reader(message);
  if (!reader.magic(magic)) return bad_message("its first bytes are wrong");
  Value value;
  flat::Field field;
  while (reader.next(field))
    if (!take(value, field)) return bad_message(fmt::format("field {} is unknown or malformed", field.tag));
  if (reader.failed()) return bad_message("it ends inside a field");
  return value;
}

}  // namespace

std::string serialize(const CompileRequest& request) {
  std::string out(kRequestMagic);
  flat::append_number(out, kLanguage, static_cast<uint64_t>(request.language));
  flat::append_number(out, kOutput, static_cast<uint64_t>(request.output));
  flat::append(out, kTarget, request.target);
  flat::append(out, kProgramName, request.program_name);
  flat::append(out, kSource, request.source);
  for (const VirtualHeader& header : request.headers) {
    flat::append(out, kHeaderName, header.name);
    flat::append(out, kHeaderText, header.text);
  }
  for (const std::string& option : request.options) flat::append(out, kOption, option);
  for (const std::string& expression : request.name_expressions) flat::append(out, kNameExpression, expression);
  for (const std::string& name : request.entry_names) flat::append(out, kEntryName, name);
  flat::append_number(out, kDeadline, request.deadline_ms);
  if (request.foreign) flat::append(out, kForeign, {});
  return out;
}

Result<CompileRequest> parse_compile_request(std::string_view message) {
  return parse<CompileRequest>(message, kRequestMagic, take_request_field);
}

std::string serialize(const Binary& binary) {
  std::string out(kBinaryMagic);
  flat::append_number(out, kKind, static_cast<uint64_t>(binary.kind));
  flat::append(out, kBytes, binary.bytes);
  flat::append(out, kLog, binary.log);
  flat::append(out, kCompiler, binary.compiler);
  for (const LoweredName& lowered : binary.lowered_names) {
    flat::append(out, kLoweredExpression, lowered.expression);
    flat::append(out, kLoweredName, lowered.name);
  }
  for (const KernelResources& resources : binary.resources) {
    flat::append(out, kResourceEntry, resources.entry);
    flat::append(out, kResourceNumbers, pack_numbers(resources));
  }
  for (const std::string& note : binary.performance_notes) flat::append(out, kNote, note);
  flat::append_number(out, kCompileMs, flat::from_double(binary.compile_ms));
  flat::append_number(out, kTotalMs, flat::from_double(binary.total_ms));
  return out;
}

Result<Binary> parse_binary(std::string_view message) {
  return parse<Binary>(message, kBinaryMagic, take_binary_field);
}

}  // namespace tilert
