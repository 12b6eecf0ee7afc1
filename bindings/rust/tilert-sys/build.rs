//! Finds libtilert: `TILERT_LIB_DIR`, else the program pkg-config, else (feature `bundled`) a build by CMake.
//! Dependents get the folder as `DEP_TILERT_LIB_DIR`, for run paths.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["TILERT_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    let mut tried = Vec::new();
    let found = by_folder(&mut tried).or_else(|| by_pkg_config(&mut tried)).or_else(|| bundled(&mut tried));
    match found {
        Some(folder) => {
            println!("cargo:rustc-link-search=native={}", folder.display());
            if inside() {
                println!("cargo:rustc-link-lib=static=tilert");
                NEEDED.iter().for_each(|name| println!("cargo:rustc-link-lib=dylib={}", name));
            } else {
                println!("cargo:rustc-link-lib=dylib=tilert");
                // This package's own tests find the library where it was found now.
                println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
            }
            println!("cargo:lib_dir={}", folder.display());
        }
        None => {
            eprintln!("libtilert was not found. Tried:");
            tried.iter().for_each(|line| eprintln!("  - {}", line));
            std::process::exit(1);
        }
    }
}

/// What libtilert.a needs of the host (TILERT_STATIC_LIBRARIES of cmake/TilertStatic.cmake; the rest is Rust's own).
const NEEDED: [&str; 3] = ["sqlite3", "sodium", "stdc++"];

/// Whether the library goes into the program.
fn inside() -> bool {
    env::var_os("CARGO_FEATURE_STATIC").is_some()
}

fn file() -> &'static str {
    if inside() {
        "libtilert.a"
    } else {
        "libtilert.so"
    }
}

fn holds_library(folder: &Path) -> bool {
    folder.join(file()).exists()
}

fn by_folder(tried: &mut Vec<String>) -> Option<PathBuf> {
    let named = match env::var_os("TILERT_LIB_DIR") {
        Some(value) if !value.is_empty() => PathBuf::from(value),
        _ => {
            tried.push(format!("TILERT_LIB_DIR, which is not set (the folder that holds {})", file()));
            return None;
        }
    };
    if holds_library(&named) {
        return Some(named.canonicalize().unwrap_or(named));
    }
    // What was asked for by name is not replaced by what happens to be installed.
    eprintln!("TILERT_LIB_DIR is {}, where there is no {}", named.display(), file());
    std::process::exit(1);
}

fn by_pkg_config(tried: &mut Vec<String>) -> Option<PathBuf> {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let output = match Command::new(&program).args(["--variable=libdir", "tilert"]).output() {
        Ok(output) => output,
        Err(error) => {
            tried.push(format!("{}: {}", program.to_string_lossy(), error));
            return None;
        }
    };
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if output.status.success() && holds_library(&folder) {
        return Some(folder.canonicalize().unwrap_or(folder));
    }
    tried.push(format!(
        "{} tilert, which knows no such package (its tilert.pc comes with an installed tilert; PKG_CONFIG_PATH)",
        program.to_string_lossy()
    ));
    None
}

fn bundled(tried: &mut Vec<String>) -> Option<PathBuf> {
    if env::var_os("CARGO_FEATURE_BUNDLED").is_none() {
        tried.push("a build of its own, which the feature `bundled` of this crate turns on".to_string());
        return None;
    }
    let sources = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../../..");
    if !sources.join("include/tilert.h").exists() {
        tried.push(format!("a bundled build from {}, where the sources of tilert are not", sources.display()));
        return None;
    }
    for part in ["src", "include", "plugins", "cmake", "device", "CMakeLists.txt"] {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    let build = Path::new(&env::var_os("OUT_DIR")?).join("tilert");
    let configured = run(Command::new("cmake").arg("-S").arg(&sources).arg("-B").arg(&build).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DTILERT_TESTS=OFF",
        "-DTILERT_SAMPLES=OFF",
        "-DTILERT_TOOLS=OFF",
        "-DTILERT_BENCH=OFF",
    ]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "2".to_string());
    let built = configured && run(Command::new("cmake").arg("--build").arg(&build).args(["--parallel", &jobs]));
    if built && holds_library(&build.join("lib")) {
        return Some(build.join("lib"));
    }
    tried.push("a bundled build, which failed: its messages are above; tools/packages lists what it needs".to_string());
    None
}

fn run(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cmake: {}", error);
            false
        }
    }
}
