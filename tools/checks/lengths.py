#!/usr/bin/env python3
"""Files of at most 400 lines, functions of at most 70.

Functions of the C family are found by their braces, not parsed: comments, strings and preprocessor lines are blanked,
then each brace that opens outside a function is a scope (namespace, class), a function (its heading has a parenthesis)
or data. A lambda counts as part of the function around it. Python functions come from Python's own parser.
"""
import ast
import os
import re
import sys

import common

FILE_LIMIT = 400
FUNCTION_LIMIT = 70
# One file by contract: the C interface with its documentation.
ONE_FILE_BY_CONTRACT = {"include/tilert.h"}
MEASURED = common.C_FAMILY + (".py", ".cmake", ".sh", "CMakeLists.txt")

BLANKED = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\((?s:.)*?\)(?P=tag)"'  # raw string
    r'|//[^\n]*|/\*(?s:.)*?\*/'
    r'|(?<![\w\'])(?:u8|[uUL])?"(?:\\(?s:.)|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.[^'\n]*|[^'\\\n])'"
    r'|^[ \t]*#(?:[^\n\\]|\\(?s:.))*', re.M)
SCOPE = re.compile(r'\b(?:namespace\b|extern\s*$)')
TYPE = re.compile(r'^(?:typedef\s+)?(?:class|struct|union|enum)\b')
NOISE = re.compile(r'\balignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]|\btemplate\s*<[^{}]*?>\s*(?=class|struct|union)'
                   r'|^(?:\s*(?:public|private|protected)\s*:)+', re.S)


def blank(text):
    """The text with comments, strings and preprocessor lines replaced by spaces; lines stay where they are."""
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def kind_of(heading):
    heading = NOISE.sub(" ", heading).strip()
    if SCOPE.search(heading) and "(" not in heading:
        return "scope"
    if TYPE.match(heading) and "(" not in heading.split(":")[0]:
        return "scope"
    return "function" if "(" in heading else "data"


def functions_of_c(text):
    """(first line, last line, heading) of each function body outside another."""
    text = blank(text)
    stack, start, found = [], 0, []
    for match in re.finditer(r"[{};]", text):
        inside = next((entry for entry in stack if entry[0] != "scope"), None)
        at, sign = match.start(), match.group()
        if sign == "{":
            heading = text[start:at]
            kind = "inner" if inside else kind_of(heading)
            first = start + len(heading) - len(heading.lstrip())
            stack.append((kind, text.count("\n", 0, first) + 1, " ".join(heading.split())))
        elif sign == "}" and stack:
            kind, line, heading = stack.pop()
            if kind == "function":
                found.append((line, text.count("\n", 0, at) + 1, heading))
        if not inside or (sign == "}" and not any(entry[0] != "scope" for entry in stack)):
            start = match.end()
    return found


def functions_of_python(text):
    return [(node.lineno, node.end_lineno, node.name) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check(root):
    problems, examined = [], 0
    for path in common.files(root, MEASURED):
        text = common.read(root, path)
        if text is None:
            continue
        examined += 1
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines > FILE_LIMIT and path not in ONE_FILE_BY_CONTRACT:
            problems.append(f"{path}:{lines}: the file has {lines} lines, the limit is {FILE_LIMIT}")
        functions = []
        if path.endswith(common.C_FAMILY):
            functions = functions_of_c(text)
        elif path.endswith(".py"):
            functions = functions_of_python(text)
        for first, last, heading in functions:
            if last - first + 1 > FUNCTION_LIMIT:
                problems.append(f"{path}:{first}: {last - first + 1} lines, the limit is {FUNCTION_LIMIT}: {heading[:90]}")
    return problems, examined


def self_test():
    body = "  x();\n" * 68
    good = {
        "src/a/fits.cpp": "namespace n {\nint f(int a) {\n" + body + "}\nstruct S {\n  int x[2] = {1, 2};\n};\n}\n",
        "src/a/table.h": "const int kTable[] = {\n" + "  1,\n" * 100 + "};\n",
        "src/a/class.h": "template <class F, class = void>\nclass alignas(8) C : public B {\n public:\n" + "  int f() { return 1; }\n" * 100 + "};\n",
        "src/a/tricky.cpp": "// {{{ in a comment\nconst char* s = \"{{{\";\nchar c = '{';\nint big = 1'000'000;\n#define OPEN {{{ \\\n  {\n"
                            "auto r = R\"x(\n{{{)x\";\nint g() {\n" + body + "}\n",
        "src/a/table.def": "ROW\n" * 500,
        "include/tilert.h": "int f(void);\n" * 500,
        "tools/t.py": "def f():\n" + "    pass\n" * 69,
    }
    long_c = "namespace n {\nclass C {\n  int f(int a) {\n" + body + "  x();\n  }\n};\n}\n"
    lambda_c = "void f() {\n  auto g = [] {\n" + body + "  };\n}\n"
    init_c = "C::C(int a) : a_{a}, b_(a) {\n" + body + "  x();\n}\n"
    test_c = "TEST(A, B) {\n" + body + "  x();\n}\n"
    wrong = {"src/b/long.cpp": ["src/b/long.cpp:3: 71 lines", long_c], "src/b/lambda.cpp": ["src/b/lambda.cpp:1: 72", lambda_c],
             "src/b/init.cpp": ["src/b/init.cpp:1: 71", init_c.replace(", b_", ", \nb_")],
             "src/b/test.cpp": ["src/b/test.cpp:1: 71", test_c], "src/b/f.cpp": ["src/b/f.cpp:401: the file", "int a;\n" * 401],
             "tools/u.py": ["tools/u.py:1: 71", "def f():\n" + "    pass\n" * 70]}
    wrong["src/b/init.cpp"] = ["src/b/init.cpp:1: 71", init_c]
    passed = common.expect("good", good, check, [])
    for path, (problem, text) in wrong.items():
        passed = common.expect(path, {**good, path: text}, check, [problem]) and passed
    return passed


if __name__ == "__main__":
    sys.exit(common.main("lengths", check, self_test))
