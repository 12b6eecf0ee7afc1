// Specializations of the warpgroup products, by the widths and types that a text names.
#include "codegen/product_text.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

namespace tilert::codegen {
namespace {

// An operand type: its name in PTX, elements of K, and which immediates the instruction takes behind scale-d.
struct OperandType {
  std::string_view storage, ptx;
  int depth;
  bool scales, majors;
};
constexpr OperandType kTypes[] = {
    {"tl_f16", "f16", 16, true, true},     {"tl_bf16", "bf16", 16, true, true},  {"tl_tf32", "tf32", 8, true, false},
    {"tl_e4m3", "e4m3", 32, true, false},  {"tl_e5m2", "e5m2", 32, true, false}, {"tl_i8", "s8", 32, false, false},
    {"tl_u8", "u8", 32, false, false},
};

const OperandType& type_of(std::string_view storage) {
  for (const OperandType& type : kTypes)
    if (type.storage == storage) return type;
  return kTypes[0];
}

// What is named between the angle brackets, completed.
struct Form {
  std::string arguments;  // as the text has them
  bool from_registers = false, sparse = false;
  int n = 0;
  std::string sums = "float", a, b;
  std::string mn_a = "0", mn_b = "0";
};

std::string declaration(std::string_view name, const Form& form, int words) {
  const char* const element = form.sums == "tl_f16" ? "tl_u32" : form.sums == "int" ? "int" : "float";
  return fmt::format("template <>\nTL_DEV void {}<{}>({} (&d)[{}], {}, tl_u64 b, {}int accumulate) {{\n", name, form.arguments, element, words,
                     form.from_registers ? "const tl_u32 (&a)[4]" : "tl_u64 a", form.sparse ? "tl_u32 metadata, " : "");
}

std::string form_text(std::string_view name, const Form& form) {
  const OperandType &a = type_of(form.a), &b = type_of(form.b);
  const int words = form.sums == "tl_f16" ? form.n / 4 : form.n / 2;
  std::string registers, operands;
  for (int i = 0; i < words; ++i) {
    registers += fmt::format("{}%{}", i ? ", " : "", i);
    operands += fmt::format("{}\"+{}\"(d[{}])", i ? ", " : "", form.sums == "float" ? "f" : "r", i);
  }
  int next = words;
  std::string source = fmt::format("%{}", next), inputs = "\"l\"(a)";
  if (form.from_registers) {
    source = fmt::format("{{%{}, %{}, %{}, %{}}}", next, next + 1, next + 2, next + 3);
    inputs = "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])";
    next += 3;
  }
  std::string immediates = a.scales ? ", 1, 1" : "";
  if (a.majors && !form.from_registers) immediates += ", " + form.mn_a;
  if (a.majors) immediates += ", " + form.mn_b;
  std::string second = fmt::format("%{}", next + 1), more;
  if (form.sparse) {
    second += fmt::format(", %{}, 0", next + 2);
    more = "\"r\"(metadata), ";
    ++next;
  }
  const char* const sums = form.sums == "tl_f16" ? "f16" : form.sums == "int" ? "s32" : "f32";
  return declaration(name, form, words) +
         fmt::format(
             "  asm volatile(\"{{\\n.reg .pred tl_again;\\nsetp.ne.b32 tl_again, %{0}, 0;\\n\"\n"
             "      \"wgmma.mma_async.{12}sync.aligned.m64n{1}k{2}.{3}.{4}.{5} {{{6}}}, {7}, {8}, tl_again{9};\\n}}\"\n"
             "      : {10}\n      : {11}, \"l\"(b), {13}\"r\"(accumulate));\n}}\n",
             next + 2, form.n, form.sparse ? 2 * a.depth : a.depth, sums, a.ptx, b.ptx, registers, source, second, immediates, operands, inputs,
             form.sparse ? "sp." : "", more);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = list.find(", ");
    out.emplace_back(list.substr(0, comma));
    list = comma == list.npos ? std::string_view() : list.substr(comma + 2);
  }
  return out;
}

// tl_wgmma_ss<N, type>; tl_wgmma<N, sums, A, B, MnA, MnB>; tl_wgmma_rs<N, sums, A, B, MnB>, and so tl_wgmma_sp.
Form read_form(std::string_view name, const std::string& arguments) {
  const std::vector<std::string> words = split(arguments);
  Form form;
  form.arguments = arguments;
  form.n = std::stoi(words[0]);
  if (name == "tl_wgmma_ss") {
    form.a = form.b = words[1];
    return form;
  }
  form.from_registers = name == "tl_wgmma_rs";
  form.sparse = name == "tl_wgmma_sp";
  form.sums = words[1];
  form.a = words[2];
  form.b = words[3];
  form.mn_b = words.back();
  if (!form.from_registers && !form.sparse) form.mn_a = words[4];
  return form;
}

std::string forms_of(std::string_view name, std::string_view body) {
  const std::string call = fmt::format("{}<", name);
  std::set<std::pair<int, std::string>> found;
  for (size_t at = body.find(call); at != std::string_view::npos; at = body.find(call, at + 1)) {
    const size_t begin = at + call.size(), end = body.find('>', at);
    const std::string arguments(body.substr(begin, end - begin));
    found.insert({std::stoi(arguments), arguments});
  }
  std::string text;
  for (const auto& [n, arguments] : found) text += form_text(name, read_form(name, arguments));
  return text;
}

}  // namespace

std::string product_forms(std::string_view body) {
  return forms_of("tl_wgmma_ss", body) + forms_of("tl_wgmma", body) + forms_of("tl_wgmma_rs", body) + forms_of("tl_wgmma_sp", body);
}

}  // namespace tilert::codegen
