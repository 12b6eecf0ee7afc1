//! Building: errors and their places, equal programs, and that every function of the C interface is reached.

mod common;

use tilert::prelude::*;
use tilert::{Access, Place, Status};

#[test]
fn an_error_names_the_place_of_the_call() {
    let mut line = 0;
    let error = tilert::build("wrong", |b| {
        let (x, y) = (b.input("X", F32, 8), b.output("Y", I32, 8));
        b.grid(1, |_| {
            b.parallel(8, |i| {
                line = line!() + 1;
                y.at(i).set(x.at(i) + i.cast(I32));
            })
        });
        assert!(b.failed());
    })
    .unwrap_err();
    assert_eq!(error.status(), Status::InvalidProgram);
    assert_eq!(error.place(), Some(&Place { file: file!().into(), line }), "{}", error);
}

#[test]
fn a_label_is_in_the_message() {
    let error = tilert::build("wrong", |b| {
        let x = b.input("X", F32, 8);
        b.grid(1, |_| b.label("the copy").copy(x, x));
    })
    .unwrap_err();
    assert!(error.message().contains("the copy"), "{}", error);
}

#[test]
fn what_c_cannot_take_is_an_error_too() {
    let error = tilert::build("nul", |b| {
        b.dim("M\0");
    })
    .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("NUL"), "{}", error);
    let error = tilert::build("many", |b| {
        let x = b.input("X", F32, 8);
        b.grid(1, |_| b.clear(x.at([0; 9].as_slice())));
    })
    .unwrap_err();
    assert!(error.message().contains("at most 8"), "{}", error);
    assert!(tilert::build("many", |b| b.grid((1, 1, 1, 1), |_| {})).is_err());
    assert!(tilert::build("many", |b| b.grid(1, |_| b.parallel([1; 7], |_| {}))).is_err());
}

#[test]
fn a_panic_in_a_scope_leaves_nothing_behind() {
    let panic = std::panic::catch_unwind(|| tilert::build("left", |b| b.grid(1, |_| panic!("out")))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"out"));
}

#[test]
fn equal_programs_are_equal_however_they_are_written() {
    let one = common::axpy();
    let again = Program::parse(&one.text().unwrap(), None).unwrap();
    assert_eq!(one.hash().unwrap(), again.hash().unwrap());
    assert_ne!(one.hash().unwrap(), common::shifted(0).hash().unwrap());
    assert_eq!(one.dims(), ["N"]);
    let parameters = one.parameters();
    assert_eq!(parameters.len(), 4);
    assert_eq!((parameters[2].name.as_str(), parameters[2].access), ("Z", Some(Access::Out)));
    assert_eq!((parameters[3].dtype, parameters[3].access), (F32, None));
    assert!(!one.has_source());
}

#[test]
fn text_names_its_line() {
    let text = common::axpy().text().unwrap().replace("parallel", "paralel");
    let error = Program::parse(&text, Some("axpy.tir")).unwrap_err();
    assert_eq!(error.status(), Status::InvalidProgram);
    let place = error.place().unwrap_or_else(|| panic!("no place in: {}", error));
    assert_eq!(place.file, "axpy.tir");
    assert!(text.lines().nth(place.line as usize - 1).unwrap().contains("paralel"));
}

#[test]
fn operators_take_numbers_on_both_sides() {
    let program = tilert::build("numbers", |b| {
        let y = b.output("Y", F32, 8);
        b.grid(1, |_| {
            b.parallel(8, |i| {
                let v = i.cast(F32);
                let mut sum = b.var(F32);
                sum.set(2.0 * v - 1 + v / 2 - 0.5);
                sum += v;
                sum *= 2;
                sum -= 1;
                let odd = (i % 2).eq(1) & !i.eq(7) | i.ge(100);
                y.at(i).set(odd.select(-sum, sum.max(3u8)));
            });
        });
    })
    .unwrap();
    let mut y = [0f32; 8];
    program.interpret(&[output(&mut y, &[8]).unwrap()], &[]).unwrap();
    for (i, found) in y.iter().enumerate() {
        let v = i as f32;
        let sum = (2.0 * v - 1.0 + v / 2.0 - 0.5 + v) * 2.0 - 1.0;
        assert_eq!(*found, if i % 2 == 1 && i != 7 { -sum } else { sum.max(3.0) }, "element {}", i);
    }
}

/// Functions that have no use here: widths are known, an error is copied with the status of its call, a builder is not shared, and Rust's numbers
/// fold among themselves.
const UNUSED: [&str; 7] = [
    "tilert_dtype_bits",
    "tilert_error_retain",
    "tilert_error_status",
    "tilert_builder_retain",
    "tilert_number_op",
    "tilert_number_cast",
    "tilert_number_reinterpret",
];

#[test]
fn every_function_of_the_c_interface_is_reached() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut ours = String::new();
    for folder in [root.join("src"), root.join("src/builder")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                // What tests alone call does not count.
                ours += std::fs::read_to_string(path).unwrap().split("#[cfg(test)]").next().unwrap();
            }
        }
    }
    let words: std::collections::HashSet<&str> = ours.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let raw = std::fs::read_to_string(root.join("../tilert-sys/src/functions.rs")).unwrap();
    let declared: Vec<&str> = raw.split("pub fn ").skip(1).map(|part| part.split('(').next().unwrap()).collect();
    assert!(declared.len() > 150);
    for name in declared {
        assert_ne!(words.contains(name), UNUSED.contains(&name), "{}", name);
    }
}
