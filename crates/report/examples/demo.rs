//! Writes all files of the made-up records into a folder: `cargo run --example demo -- FOLDER`.
#[path = "../tests/it/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "demo".into());
    let large = [("crowd", fixture::crowd()), ("sweep", fixture::sweep())];
    for (name, record) in fixture::all().into_iter().chain(large) {
        println!(
            "\n{name}\n{}",
            goodqueue_report::table::text(&record, goodqueue_report::table::Layout::default())
        );
        let dir = std::path::Path::new(&folder).join(name);
        let files = goodqueue_report::write_all(&record, &dir)?;
        println!("{} files in {}", files.len(), dir.display());
    }
    Ok(())
}
