//! Prints the tables of the made-up records.
#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() {
    for (name, record) in fixture::all() {
        println!("\n{name}\n{}", goodqueue_report::table::text(&record, false));
    }
}
