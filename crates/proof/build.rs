//! Compresses the scenarios of the reproductions: the program is smaller by 190 kB.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    let variable = |name: &str| std::env::var(name).map_err(io::Error::other);
    let scenarios = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../scenarios");
    println!("cargo::rerun-if-changed={}", scenarios.display());
    // Name and text of one after the other, each closed by a zero.
    let out = fs::File::create(Path::new(&variable("OUT_DIR")?).join("scenarios"))?;
    let mut packed = flate2::write::DeflateEncoder::new(out, flate2::Compression::best());
    for (folder, before) in [(scenarios.clone(), ""), (scenarios.join("counted"), "counted/")] {
        let paths = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
        let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            packed.write_all(format!("{before}{name}\0{}\0", fs::read_to_string(&path)?).as_bytes())?;
        }
    }
    packed.finish()?;
    Ok(())
}
