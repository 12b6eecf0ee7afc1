#!/usr/bin/env python3
"""Every refusal names an alternative: UNSUPPORTED is made by refusal(what, instead) of src/support/refusal.h alone, with words in
the second place, and each row of refusals.def has three texts.

Not here: whether the advice is good.
"""
import re
import sys

import common

MAKES = re.compile(r"\bkUnsupported\b")
# Where the code is defined, named, and given to what a compiler below says, with advice in the same place;
# and the launch path, which fills the caller's memory.
EXEMPT = {"src/support/refusal.h", "src/support/result.h", "src/support/result.cpp", "src/compiler/llvm_plugin.cpp",
          "src/compiler/hip.def", "src/compiler/nvrtc.def", "src/runtime/launch_cuda.cpp", "src/runtime/launch_hip.cpp"}
ROW = re.compile(r"^TILERT_REFUSAL\((.*)\)$")


def arguments(text, start):
    """The arguments of a call whose parenthesis opens before `start`, split at the outermost commas."""
    out, depth, at, quoted = [""], 0, start, False
    while at < len(text):
        c = text[at]
        if quoted:
            if c == "\\":
                out[-1] += c
                at += 1
                c = text[at]
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return [a.strip() for a in out]
            depth -= 1
        elif c == "," and depth == 0:
            out.append("")
            at += 1
            continue
        out[-1] += c
        at += 1
    return None


def strip_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def check(root):
    problems, examined = [], 0
    for path in common.files(root):
        if not path.startswith("src/") or not path.endswith((".cpp", ".h", ".def")):
            continue
        text = strip_comments(common.read(root, path) or "")
        examined += 1
        for number, line in enumerate(text.split("\n"), 1):
            if path not in EXEMPT and MAKES.search(line):
                problems.append(f"{path}:{number}: UNSUPPORTED without refusal(what, instead)")
            row = ROW.match(line) if path.endswith(".def") else None
            if row and [len(a) > 8 for a in arguments(row.group(1) + ")", 0)[1:]] != [True, True]:
                problems.append(f"{path}:{number}: a row is (name, what, alternative)")
        if path.endswith(".def") or path in EXEMPT:
            continue
        for call in re.finditer(r"\brefusal\(", text):
            given = arguments(text, call.end())
            if not given or len(given) < 2 or len(given[1]) < 4:
                number = text.count("\n", 0, call.start()) + 1
                problems.append(f"{path}:{number}: a refusal says what to do instead")
    return problems, examined


def self_test():
    good = {"src/support/refusal.h": "// A.\nreturn Error{Code::kUnsupported};\n",
            "src/a.cpp": "// Not kUnsupported here.\nreturn refusal(fmt::format(\"a, {}\", f(x, y)), \"use b\");\n"
                         "if (is_refusal(e)) return refusal(what, instead, \"; \");\n",
            "src/refusals.def": 'TILERT_REFUSAL(scan, "scans, of all kinds", "write a loop")\nTILERT_FEATURE(copy)\n'}
    passed = common.expect("good", good, check, [])
    for line in ("return make_error(Code::kUnsupported, \"no\");", "return refusal(\"no\");", "return refusal(\"no\", \"\");",
                 "return refusal(fmt::format(\"{}, {}\", a, b));"):
        passed = common.expect(line, {**good, "src/c.cpp": "\n" + line + "\n"}, check, ["src/c.cpp:2: "]) and passed
    bad = {**good, "src/refusals.def": 'TILERT_REFUSAL(scan, "scans, of all kinds", "")\n'}
    return common.expect("row", bad, check, ["src/refusals.def:1: "]) and passed


if __name__ == "__main__":
    sys.exit(common.main("refusals", check, self_test))
