//! The declarations equal the header: a C compiler's sizes, offsets and values, and every function by name and type. Where
//! the header has gained something that this crate lacks, these fail and name it.

#![allow(non_camel_case_types)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tilert_sys::*;

macro_rules! layout {
    ($out:ident, $name:ident, $($field:ident),+) => {{
        let place = std::mem::MaybeUninit::<$name>::uninit();
        let start = place.as_ptr();
        $out.push((stringify!($name).to_string(), std::mem::size_of::<$name>() as i64));
        // SAFETY: addresses of fields only; nothing is read.
        $(let at = unsafe { std::ptr::addr_of!((*start).$field) } as usize - start as usize;
        $out.push((format!("{}.{}", stringify!($name), stringify!($field)), at as i64));)+
    }};
}
macro_rules! value {
    ($out:ident, $name:ident) => {
        $out.push((stringify!($name).to_string(), $name as i64))
    };
}
macro_rules! function {
    ($name:ident, $kind:ty) => {{
        let typed: $kind = $name;
        (stringify!($name), typed as *const ())
    }};
}

#[rustfmt::skip]
mod table {
    use super::*;
    include!("header/table.rs");
}

fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include/tilert.h")
}

/// The header without its comments.
fn declarations() -> String {
    let text = std::fs::read_to_string(header()).expect("include/tilert.h of this repository");
    let mut rest = text.as_str();
    let mut out = String::new();
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        out.push(' ');
        rest = &rest[start..];
        rest = &rest[rest.find("*/").expect("comments end") + 2..];
    }
    out + rest
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// A C program that prints the same numbers as a C compiler makes them of the header.
fn program_of(numbers: &[(String, i64)]) -> String {
    let mut out = "#include \"tilert.h\"\n#include <stdio.h>\nint main(void) {\n".to_string();
    for (name, _) in numbers {
        let value = match name.split_once('.') {
            Some((of, field)) => format!("offsetof(struct {}, {})", of, field),
            None if name.starts_with("TILERT_") => name.clone(),
            None => format!("sizeof(struct {})", name),
        };
        out += &format!("  printf(\"{} %lld\\n\", (long long)({}));\n", name, value);
    }
    out + "  return 0;\n}\n"
}

#[test]
fn a_c_compiler_sees_the_same_sizes_offsets_and_values() {
    let mut ours = Vec::new();
    table::numbers(&mut ours);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("tilert_layout.c"), folder.join("tilert_layout"));
    std::fs::write(&source, program_of(&ours)).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let compiled = Command::new(&compiler)
        .arg("-I")
        .arg(header().parent().unwrap())
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .expect("a C compiler, which Rust's linking needs too");
    assert!(compiled.success(), "what tilert-sys declares is not in the header: the compiler names it above");
    let output = Command::new(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let in_c: BTreeMap<&str, i64> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect();
    for (name, value) in &ours {
        assert_eq!(in_c.get(name.as_str()), Some(value), "{}", name);
    }
    assert_eq!(in_c.len(), ours.len());
    assert!(ours.len() > 500, "{} numbers only", ours.len());
}

#[test]
fn every_function_of_the_header_is_declared_and_links() {
    let declared: BTreeMap<&str, *const ()> = table::functions().into_iter().collect();
    let text = declarations();
    let mut seen = 0;
    for part in text.split("TILERT_API ").skip(1) {
        let heading = part.split('(').next().unwrap();
        let name = words(heading).last().unwrap();
        if name == "__attribute__" {
            continue; // the macro's own definition
        }
        let address = declared.get(name).unwrap_or_else(|| panic!("{} is in tilert.h and not in tilert-sys", name));
        assert!(!address.is_null());
        seen += 1;
    }
    assert_eq!(seen, declared.len(), "tilert-sys declares what tilert.h does not");
}

#[test]
fn every_constant_and_struct_of_the_header_is_declared() {
    let mut ours = Vec::new();
    table::numbers(&mut ours);
    let known: std::collections::BTreeSet<&str> = ours.iter().map(|(name, _)| name.as_str()).collect();
    let text = declarations();
    for part in text.split("enum {").skip(1) {
        for entry in part[..part.find('}').unwrap()].split(',') {
            if let Some(name) = words(entry).next() {
                assert!(known.contains(name), "{} is in tilert.h and not in tilert-sys", name);
            }
        }
    }
    for part in text.split("struct ").skip(1) {
        let name = words(part).next().unwrap();
        if part[name.len()..].trim_start().starts_with('{') {
            assert!(known.contains(name), "{} is in tilert.h and not in tilert-sys", name);
        }
    }
}

#[test]
fn a_struct_starts_as_zero_with_its_size() {
    let grid = tilert_grid::default();
    assert_eq!(grid.struct_size as usize, std::mem::size_of::<tilert_grid>());
    assert!(grid.extents.is_null() && grid.rank == 0 && grid.tile_count.serial == 0);
}
