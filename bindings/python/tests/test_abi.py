"""The declarations against the header: structs, functions, enums. Skipped where the header is not beside the package."""

import ctypes
import os
import re
import unittest

import tilert_jit as tj
from tilert_jit import _abi, _structs, builder, elements

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
LAYOUT = os.path.join(ROOT, "tests", "abi", "layout.txt")
HEADER = os.path.join(ROOT, "include", "tilert.h")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def layouts():
    """{struct: (size, [(field, offset, size)])} as C says."""
    out, current = {}, None
    for line in read(LAYOUT).splitlines():
        words = line.split()
        if line.startswith(" "):
            out[current][1].append((words[0], int(words[1]), int(words[2])))
        else:
            current = words[0]
            out[current] = (int(words[1]), [])
    return out


def c_name(struct):
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", struct.__name__).lower()
    return _structs.C_NAMES.get(struct.__name__, "tilert_" + words)


@unittest.skipUnless(os.path.exists(LAYOUT), "not in the source tree")
class Declarations(unittest.TestCase):
    def test_every_struct_lies_as_in_c(self):
        structs = {c_name(s): s for s in vars(_structs).values() if isinstance(s, type) and issubclass(s, ctypes.Structure)
                   and s.__module__ == _structs.__name__}
        wanted = layouts()
        self.assertEqual(set(wanted) - set(structs), set())
        self.assertEqual(set(structs) - set(wanted), set())
        for name, (size, members) in wanted.items():
            struct = structs[name]
            self.assertEqual(ctypes.sizeof(struct), size, name)
            own = [(f, getattr(struct, f).offset, getattr(struct, f).size) for f, *_ in struct._fields_]
            self.assertEqual(own, members, name)

    def test_every_function_of_the_header_is_declared_with_as_many_arguments(self):
        text = re.sub(r"/\*.*?\*/", " ", read(HEADER), flags=re.S)
        found = {}
        for name, arguments in re.findall(r"TILERT_API\s[^;]*?\b(tilert_\w+)\s*\(([^;]*?)\)\s*TILERT_NOEXCEPT\s*;", text, re.S):
            found[name] = 0 if arguments.strip() == "void" else arguments.count(",") + 1
        declared = {name: len(arguments) for name, arguments, _ in _abi.signatures()}
        self.assertGreater(len(found), 150)
        self.assertEqual(declared, found)

    def test_statuses_and_names_of_enums_have_the_header_s_numbers(self):
        numbers = {name: int(value) for name, value in re.findall(r"\b(TILERT_\w+) =\s+(\d+)", read(HEADER))}
        for status in tj.Status:
            self.assertEqual(numbers["TILERT_" + status.name], status)
        for prefix, table in (("TILERT_HINT_", builder._HINTS), ("TILERT_REDUCE_", builder._REDUCE), ("TILERT_ATOMIC_", elements.ATOMICS),
                              ("TILERT_ORDER_", elements.ORDERS), ("TILERT_ORDER_", elements.ORDER_SCOPES),
                              ("TILERT_LAYOUT_", elements.LAYOUTS), ("TILERT_COPY_", builder._PREFER), ("TILERT_SPLIT_", builder._SPLITS),
                              ("TILERT_OP_", tj.values._OPS)):
            for name, number in table.items():
                self.assertEqual(numbers[prefix + name.upper()], number, name)

    def test_every_status_has_the_library_s_name(self):
        for status in tj.Status:
            self.assertEqual(_abi.lib().tilert_status_name(status).decode(), status.name)
        self.assertEqual(tj.Error(99).name, "UNKNOWN")


if __name__ == "__main__":
    unittest.main()
