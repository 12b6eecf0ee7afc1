#!/usr/bin/env python3
"""Every source file opens with a comment: what lives there, and what does not.

Not here: whether the comment is a good one; a person reads that.
"""
import re
import sys

import common

OPENINGS = [
    (common.C_FAMILY + (".def",), re.compile(r"\s*(?://[ \t]*\S|/\*)")),
    ((".py",), re.compile(r'(?:#![^\n]*\n)?\s*(?:"""\s*\S|#\s*\w)')),
    ((".cmake", "CMakeLists.txt", ".map", ".cmake.in", ".pc.in"), re.compile(r"\s*(?:#\s*\S|/\*)")),
]
SHEBANG = re.compile(r"#!.*\b(?:ba|da)?sh\b[^\n]*\n#\s*\w|#!.*python3?[^\n]*\n\s*(?:\"\"\"\s*\S|#\s*\w)")


def opening_of(path, text):
    """The pattern that the file must start with; None for files that need none."""
    for suffixes, pattern in OPENINGS:
        if path.endswith(suffixes):
            return pattern
    return SHEBANG if text.startswith("#!") else None


def check(root):
    problems, examined = [], 0
    for path in common.files(root):
        text = common.read(root, path)
        pattern = opening_of(path, text) if text else None
        if pattern is None:
            continue
        examined += 1
        if not pattern.match(text):
            problems.append(f"{path}:1: open the file with a comment that says what lives there")
    return problems, examined


def self_test():
    good = {"a.cpp": "// Words.\n", "b.h": "/* Words */\n", "c.py": '"""Words."""\n', "d.py": "#!/usr/bin/python3\n# Words\n",
            "CMakeLists.txt": "# Words\n", "run": "#!/bin/bash\n# Words\n", "t.def": "// Rows.\n", "notes.md": "words\n",
            "e": '#!/usr/bin/env python3\n"""Words."""\n'}
    wrong = {"a.cpp": "#include <a>\n", "b.h": "#pragma once\n", "c.py": "import os\n", "CMakeLists.txt": "project(x)\n",
             "run": "#!/bin/bash\nset -e\n", "t.def": "ROW\n", "a.h": "//\nint x;\n", "e": "#!/usr/bin/env python3\nimport os\n"}
    passed = common.expect("good", good, check, [])
    for path, text in wrong.items():
        passed = common.expect(path, {**good, path: text}, check, [path + ":1: "]) and passed
    return passed


if __name__ == "__main__":
    sys.exit(common.main("comments", check, self_test))
