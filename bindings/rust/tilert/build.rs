//! This package's own tests and examples find libtilert where tilert-sys found it when they were built.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DEP_TILERT_LIB_DIR");
    if let Some(folder) = std::env::var_os("DEP_TILERT_LIB_DIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.to_string_lossy());
    }
}
