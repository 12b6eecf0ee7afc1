// What the guard refuses and what it lets through: each attack is a text that would make some compiler read a file, or
// tell whether one exists.
#include "compiler/source_guard.h"

#include "compiler/c_lexer.h"

#include <gmock/gmock.h>

namespace tilert {
namespace {

struct Case {
  const char* name;
  std::string source;
  Language language = Language::cuda;
  std::vector<std::string> options = {};
  std::vector<std::string> name_expressions = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

CompileRequest request_of(const Case& c) {
  CompileRequest request;
  request.language = c.language;
  request.source = c.source;
  request.options = c.options;
  request.name_expressions = c.name_expressions;
  request.headers = {{"a.h", "int a;\n"}, {"deep/b.h", "#include \"a.h\"\nint b;\n"}};
  return request;
}

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, IsRefusedWithAReason) {
  Status status = guard_source(request_of(GetParam()));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalidProgram);
  EXPECT_FALSE(status.error().message.empty());
}

const Case kAttacks[] = {
    {"absolute_include", "#include \"/etc/passwd\"\n"},
    {"relative_include", "#include \"../x.h\"\n"},
    {"angle_include", "#include <cstdio>\n"},
    {"blanks_around_hash", "  #  include   \"x.h\"\n"},
    {"vertical_tab_before_hash", "\v#include \"x.h\"\n"},
    {"form_feed_before_hash", "\f#include \"x.h\"\n"},
    {"digraph", "%:include \"x.h\"\n"},
    {"digraph_split_by_continuation", "%\\\n:include \"x.h\"\n"},
    {"macro_name", "#define P \"x.h\"\n#include P\n"},
    {"macro_name_from_option", "#include P\n", Language::cuda, {"-DP=\"x.h\""}},
    {"continuation_inside_the_word", "#inc\\\nlude \"x.h\"\n"},
    {"continuation_before_the_name", "#include \\\n\"x.h\"\n"},
    {"comment_before_hash", "/* x */ #include \"x.h\"\n"},
    {"comment_inside", "#/* x */include/* y */\"x.h\"\n"},
    {"comment_after_the_name", "#include \"a.h\" /* \n#include \"x.h\" */\n"},
    {"comment_of_two_lines_before_hash", "int i; /*\n*/ #include \"x.h\"\n"},
    {"trigraph", "?\?=include \"x.h\"\n"},
    {"trigraph_backslash_hides_a_line", "// x ?\?/\n#include \"x.h\"\n"},
    {"blank_after_backslash_in_comment", "// x \\ \n#include \"x.h\"\n"},
    {"carriage_return_after_backslash", "// x \\\r\n#include \"x.h\"\r\n"},
    {"lone_carriage_return", "// x \r#include \"x.h\"\n"},
    {"zero_byte", std::string("int a;\0\n#include \"x.h\"\n", 24)},
    {"include_next", "#include_next \"a.h\"\n"},
    {"import", "#import \"a.h\"\n"},
    {"include_macros", "#__include_macros \"a.h\"\n"},
    {"embed", "#embed \"/etc/passwd\"\n"},
    {"using_directive", "#using \"x\"\n"},
    {"has_include", "#if __has_include(\"/etc/passwd\")\n#endif\n"},
    {"has_include_next", "#if __has_include_next(\"x\")\n#endif\n"},
    {"has_embed", "#if __has_embed(\"x\")\n#endif\n"},
    {"has_include_in_a_macro", "#define H(x) __has_include(x)\n#if H(\"x\")\n#endif\n"},
    {"has_include_from_option", "#if H(\"x\")\n#endif\n", Language::cuda, {"-DH=__has_include"}},
    {"has_include_pasted", "#define P(a, b) a##b\n#if P(__has_, include)(\"x\")\n#endif\n"},
    {"has_include_pasted_deeper", "#define P(a, b) a##b\n#define Q P(__has_, include)\n#if Q(\"x\")\n#endif\n"},
    {"has_include_pasted_with_digraphs", "#define P(a, b) a%:%:b\n#elif P(__has_, include)(\"x\")\n"},
    {"pasted_through_an_option",
     "#define P(a, b) a##b\n#if Q(\"x\")\n#endif\n",
     Language::cuda,
     {"-DQ=P(__has_,include)"}},
    {"universal_character_name", "#if __has_inclu\\u0064e(\"x\")\n#endif\n"},
    {"raw_string_a_compiler_may_not_know", "#if 0\nR\"(\n#endif\n#include \"x.h\"\n)\"\n#endif\n"},
    {"raw_string_not_ended_by_continuation", "auto s = R\"q( )\\\nq\" /* )q\";\n#include \"x.h\"\n// */\n"},
    {"unended_comment", "/* \n#include \"x.h\"\n"},
    {"unended_raw_string", "R\"x(\n#include \"x.h\"\n"},
    {"after_a_string_with_comment_start", "const char* s = \"/*\";\n#include \"x.h\"\n// */\n"},
    {"after_a_char_with_quote", "char c = '\"';\n#include \"x.h\"\n"},
    {"after_a_digit_separator", "int i = 1'000; /* ' */\n#include \"x.h\"\n"},
    {"after_an_escaped_quote", "const char* s = \"\\\"\"; /*\"*/\n#include \"x.h\"\n"},
    {"byte_order_mark", "\xef\xbb\xbf#include \"x.h\"\n"},
    {"pragma_dependency", "#pragma GCC dependency \"/etc/passwd\"\n"},
    {"pragma_include_alias", "#pragma include_alias(\"a.h\", \"/etc/passwd\")\n"},
    {"pragma_that_crashes", "#pragma clang __debug crash\n"},
    {"incbin", "asm(\".incbin \\\"x\\\"\");\n"},
    {"incbin_in_two_literals", "asm(\".inc\" \"bin \\\"x\\\"\");\n"},
    {"incbin_by_escapes", "asm(\"\\056\\x69ncbin \\\"x\\\"\");\n"},
    {"incbin_in_capitals", "asm(\".INCBIN \\\"x\\\"\");\n"},
    {"incbin_in_a_raw_string", "asm(R\"(.incbin \"x\")\");\n"},
    {"incbin_stringized", "#define S(x) #x\nasm(S(.incbin \"x\"));\n"},
    {"include_of_the_assembler", "asm(\".include \\\"x\\\"\");\n"},
    {"name_expression_with_a_directive", "int a;\n", Language::cuda, {}, {"x);\n#include \"/etc/passwd\"\n"}},
    {"name_expression_with_a_string", "int a;\n", Language::cuda, {}, {"f(\"x\")"}},
    {"name_expression_with_has_include", "int a;\n", Language::cuda, {}, {"f<__has_include(<x>)>"}},
    {"hip_asm_of_macros", "#define A \".inc\"\n#define B \"bin \\\"x\\\"\"\nvoid f() { asm volatile(A B); }\n",
     Language::hip},
    {"hip_asm_hidden_in_a_macro", "#define K asm\nvoid f() { K(\".nop\"); }\n", Language::hip},
    {"hip_asm_text_parameter", "#define K(x) asm(x)\n", Language::hip},
    {"hip_paste", "#define P(a, b) a##b\n", Language::hip},
    {"hip_stringize", "#define S(x) #x\n", Language::hip},
    {"hip_macro_directive", "void f() { asm(\".macro m a\\n.inc\\\\a \\\"x\\\"\\n.endm\\n m bin\"); }\n",
     Language::hip},
    {"llvm_module_asm", "module asm \".incbin \\22/etc/passwd\\22\"\n", Language::llvm_ir},
    {"llvm_hex_escape", "module asm \"\\2Eincbin \\22x\\22\"\n", Language::llvm_ir},
    {"llvm_after_a_new_line", "call void asm \"nop\\0A.include \\22x\\22\", \"\"()\n", Language::llvm_ir},
    {"llvm_macro", "module asm \".irp a, bin\\0A.inc\\\\a\\0A.endr\"\n", Language::llvm_ir},
};

INSTANTIATE_TEST_SUITE_P(Attacks, Refused, testing::ValuesIn(kAttacks),
                         [](const auto& info) { return std::string(info.param.name); });

class Allowed : public testing::TestWithParam<Case> {};

TEST_P(Allowed, Passes) {
  Status status = guard_source(request_of(GetParam()));
  EXPECT_TRUE(status) << status.error().message;
}

const Case kHarmless[] = {
    {"virtual_header", "#include \"a.h\"\n#include <deep/b.h>  // why\n  #  include \"a.h\"  \n"},
    {"windows_line_ends", "#include \"a.h\"\r\nint x;\r\n"},
    {"include_in_a_comment", "// #include \"x.h\"\n/*\n * see #include \"x.h\"\n */\nint a;\n"},
    {"include_in_a_string", "const char* s = \"#include <x.h>\";\n"},
    {"include_in_a_continued_comment", "// a \\\n#include \"x.h\"\nint a;\n"},
    {"last_line_without_end", "int a;\n#include \"a.h\""},
    {"macros_and_conditions",
     "#define F(x) ((x) + 1)\n#if defined(F) && F(1) == 2\n#endif\n#ifdef G\n#elif 1\n#endif\n"},
    {"paste_outside_conditions", "#define P(a, b) a##b\nint P(x, y) = 1;\n#if defined(P) && defined P\n#endif\n"},
    {"line_and_pragma",
     "#line 3 \"kernel\"\n# 4 \"kernel\"\n#\n#pragma unroll\n#pragma GCC diagnostic ignored \"-Wall\"\n"},
    {"numbers", "double d = 1'000.5e-3 + .5 + 0x1p-3; int i = 0b1'1;\n"},
    {"characters", "char a = '\\'', b = '\"', c = u8'x', d = '\\\\';\n"},
    {"ptx", "asm volatile(\"{\\n .reg .pred p;\\n setp.ne.b32 p, %1, 0;\\n}\" : \"=r\"(a) : \"r\"(b));\n"},
    {"ptx_in_a_raw_string", "asm(R\"({ .reg .pred p; })\");\n"},
    {"ptx_by_macros", "#define S(x) #x\nasm(S(mov.u32) \" %0, 1;\" : \"=r\"(a));\n"},
    {"percent_colon_in_text", "int a = b %c; const char* s = \"%:include\";\n"},
    {"apostrophe_in_skipped_text", "#if 0\ndon't\n#endif\nint a;\n"},
    {"member_called_include", "int f(T x) { return x.include(3); }\n"},
    {"definition", "int a = N;\n", Language::cuda, {"-DN=unsigned(3)", "-DM"}},
    {"name_expressions", "int a;\n", Language::cuda, {}, {"scale<float, 4>", "&ns::f<(int)3>", "T::x[2]"}},
    {"hip_asm_literal", "void f() { asm volatile(\"s_nop 0\\n\" \"s_nop 1\" : : \"v\"(x)); }\n", Language::hip},
    {"llvm_names", "define void @f() {\n  %value.rep = add i32 0, 1\n  %x.macro = add i32 0, 1\n  ret void\n}\n",
     Language::llvm_ir},
};

INSTANTIATE_TEST_SUITE_P(Harmless, Allowed, testing::ValuesIn(kHarmless),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SourceGuard, HeadersAreGuardedLikeTheSource) {
  CompileRequest request;
  request.source = "#include \"a.h\"\n";
  request.headers = {{"a.h", "\n#include \"/etc/passwd\"\n"}};
  Status status = guard_source(request);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("header a.h, line 2"));
  EXPECT_THAT(status.error().message, testing::HasSubstr("virtual header"));
}

TEST(SourceGuard, MacrosOfAHeaderCountInConditionsOfTheSource) {
  CompileRequest request;
  request.source = "#include \"a.h\"\n#if P(__has_, include)(\"x\")\n#endif\n";
  request.headers = {{"a.h", "#define P(a, b) a##b\n"}};
  EXPECT_FALSE(guard_source(request));
}

TEST(SourceGuard, ErrorsNameTheLineAndTheHeadersThatExist) {
  CompileRequest request;
  request.source = "int a;\n\n/* two\nlines */\n#include \"c.h\"\n";
  request.headers = {{"a.h", "\n"}, {"b.h", "\n"}};
  Status status = guard_source(request);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("the source, line 5"));
  EXPECT_THAT(status.error().message, testing::HasSubstr("a.h, b.h"));
}

TEST(CLexer, EscapesAreResolved) {
  EXPECT_EQ(decode_c_escapes("\\x2e\\056\\u002e\\n\\\\\\\"\\q"), "...\n\\\"q");
  EXPECT_EQ(decode_c_escapes("tail\\"), "tail\\");
}

}  // namespace
}  // namespace tilert
