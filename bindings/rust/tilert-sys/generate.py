#!/usr/bin/env python3
"""Writes the raw declarations of this crate from include/tilert.h: constants, types, functions, and the table of its test.

`generate.py` writes the files, `generate.py --check` compares them with what the header says now and fails where they
differ. The files are checked in; building the crate needs neither Python nor the header.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[2] / "include" / "tilert.h"
SCALARS = {"void": "c_void", "char": "c_char", "int": "c_int", "size_t": "usize", "uint8_t": "u8", "int32_t": "i32",
           "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64"}
RESERVED = {"in", "type", "where", "match", "final"}


def header_text():
    """The declarations alone: no comments, no preprocessor, no macros of ours."""
    text = HEADER.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*$", "", text, flags=re.M | re.S)
    text = text.replace('extern "C" {', "").replace("TILERT_NOEXCEPT", "")
    return re.sub(r"\s+", " ", text)


def statements(text):
    """Top-level statements, without their semicolons."""
    out, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == ";" and depth == 0:
            out.append(text[start:at].strip())
            start = at + 1
    return [one for one in out if one]


def rust_type(text):
    """One type in Rust, from its C spelling without a name."""
    text = text.strip()
    array = re.search(r"\[(\w+)\]$", text)
    if array:
        return f"[{rust_type(text[:array.start()])}; {array.group(1)}]"
    words = re.findall(r"\w+|\*", text.replace("struct ", ""))
    out, constant = "", False  # constant: of what the next star points to
    for word in words:
        if word == "const":
            constant = True
        elif word == "*":
            out, constant = ("*const " if constant else "*mut ") + out, False
        elif out:
            raise SystemExit(f"generate.py does not understand the type '{text}'")
        else:
            out = SCALARS.get(word, word)
    return out


def split_arguments(text):
    out, depth, start = [], 0, 0
    for at, sign in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            out.append(text[start:at].strip())
            start = at + 1
    return [one for one in out if one and one != "void"]


def function_pointer(text):
    """(name, Rust type) of `void (*name)(arguments)`; None for what is no such declaration."""
    match = re.fullmatch(r"void \(\*(\w+)\)\((.*)\)", text)
    if not match:
        return None
    arguments = ", ".join(f"{name}: {kind}" for name, kind in map(parameter, split_arguments(match.group(2))))
    return match.group(1), f'Option<unsafe extern "C" fn({arguments})>'


def parameter(text):
    """(name, Rust type) of one parameter or field."""
    found = function_pointer(text)
    if found:
        return found
    match = re.fullmatch(r"(.*?)(\w+)((?:\[\w+\])?)", text)
    name = match.group(2)
    return (name + "_" if name in RESERVED else name), rust_type(match.group(1) + match.group(3))


def fields_of(body):
    """(name, Rust type) of each field; `const T *a, *b` and `uint32_t a[3], b[3]` are several."""
    out = []
    for line in (one.strip() for one in body.split(";")):
        if not line:
            continue
        if function_pointer(line):
            out.append(function_pointer(line))
            continue
        first, *others = line.split(",")
        out.append(parameter(first))
        base = re.match(r"((?:const )?\w+)", first).group(1)
        out += [parameter(f"{base} {other.strip()}") for other in others]
    return out


class Header:
    """What the header declares, each in its order."""

    def __init__(self):
        self.aliases, self.constants, self.structs, self.opaque, self.functions, self.callbacks = [], [], {}, [], [], []
        forward, alias = [], None
        for text in statements(header_text()):
            followed, alias = alias, None
            if match := re.fullmatch(r"typedef (u?int32_t) (\w+)", text):
                alias = match.group(2)
                self.aliases.append((alias, SCALARS[match.group(1)]))
            elif match := re.fullmatch(r"enum \{(.*?),?\s*\}", text):
                for one in match.group(1).split(","):
                    name, value = (part.strip() for part in one.split("="))
                    self.constants.append((name, followed or "u32", value))
            elif match := re.fullmatch(r"typedef struct (\w+) \1", text):
                forward.append(match.group(1))
            elif match := re.fullmatch(r"(?:typedef )?struct (\w+) \{(.*)\}(?: \1)?", text):
                self.structs[match.group(1)] = fields_of(match.group(2))
            elif text.startswith("typedef void (*"):
                self.callbacks.append(function_pointer(text[len("typedef "):]))
            elif text.startswith("TILERT_API "):
                self.functions.append(self.function(text[len("TILERT_API "):]))
            elif text != "}":
                raise SystemExit(f"generate.py does not understand '{text[:100]}'")
        self.opaque = [name for name in forward if name not in self.structs]

    @staticmethod
    def function(text):
        match = re.fullmatch(r"(.*?)(\w+) ?\((.*)\)", text.strip())
        result = match.group(1).strip()
        return match.group(2), [parameter(one) for one in split_arguments(match.group(3))], "" if result == "void" else rust_type(result)


BANNER = "//! {} of `tilert.h`. Written by generate.py from the header, which documents them; not by hand.\n"


def constants(header):
    lines = [BANNER.format("Constants and numbers")]
    lines += [f"pub type {name} = {kind};" for name, kind in header.aliases] + [""]
    lines += [f"pub const {name}: {kind} = {value};" for name, kind, value in header.constants]
    return "\n".join(lines) + "\n"


def types(header):
    lines = [BANNER.format("Handles and structs"), "use crate::*;\n"]
    for name in header.opaque:
        lines += ["#[repr(C)]", f"pub struct {name} {{", "    _opaque: [u8; 0],",
                  "    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,", "}", ""]
    for name, kind in header.callbacks:
        lines += [f"pub type {name} = {kind};", ""]
    for name, fields in header.structs.items():
        lines += ["#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
        lines += [f"    pub {field}: {kind}," for field, kind in fields] + ["}", ""]
    sized = [name for name, fields in header.structs.items() if fields[0][0] == "struct_size"]
    lines += ["zero_with_size! {"] + [f"    {name}," for name in sized] + ["}", "zero! {"]
    lines += [f"    {name}," for name in header.structs if name not in sized] + ["}", ""]
    return "\n".join(lines[:-1]) + "\n"


def functions(header):
    lines = [BANNER.format("Functions"), "use crate::*;\n", 'extern "C" {']
    for name, arguments, result in header.functions:
        gives = f" -> {result}" if result else ""
        one = f"    pub fn {name}({', '.join(f'{a}: {t}' for a, t in arguments)}){gives};"
        if len(one) > 120:
            one = f"    pub fn {name}(\n" + "".join(f"        {a}: {t},\n" for a, t in arguments) + f"    ){gives};"
        lines.append(one)
    return "\n".join(lines) + "\n}\n"


def table_rs(header):
    """Sizes, offsets and values as Rust sees them, and the functions by address and by type."""
    lines = ["// The tables of layout.rs: every struct, field, value and function. Written by generate.py.", "",
             "pub fn numbers(out: &mut Vec<(String, i64)>) {"]
    for name, fields in header.structs.items():
        lines.append(f"    layout!(out, {name}, {', '.join(field for field, _ in fields)});")
    lines += [f"    value!(out, {name});" for name, _, _ in header.constants]
    lines += ["}", "", "pub fn functions() -> Vec<(&'static str, *const ())> {", "    vec!["]
    for name, arguments, result in header.functions:
        kinds = ", ".join(kind for _, kind in arguments)
        gives = f" -> {result}" if result else ""
        one = f'        function!({name}, unsafe extern "C" fn({kinds}){gives}),'
        if len(one) > 120:
            one = f'        function!(\n            {name},\n            unsafe extern "C" fn({kinds}){gives}\n        ),'
        lines.append(one)
    return "\n".join(lines + ["    ]", "}"]) + "\n"


def main():
    header = Header()
    made = {"src/constants.rs": constants(header), "src/types.rs": types(header), "src/functions.rs": functions(header),
            "tests/header/table.rs": table_rs(header)}
    wrong = 0
    for name, text in made.items():
        path = HERE / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong += 1
            print(f"bindings/rust/tilert-sys/{name} is not what tilert.h says now: run bindings/rust/tilert-sys/generate.py")
    print(f"generate: {len(header.functions)} functions, {len(header.structs)} structs, {len(header.constants)} constants")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
