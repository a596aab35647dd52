//! Writes the page of results on `cake_mq`, and its picture, into a folder, in about five minutes:
//! `cargo run --release -p goodqueue-proof --example cake_mq -- docs`.

use std::error::Error;
use std::path::Path;

use goodqueue_proof::cake_mq::{RATES, page, picture, results};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let all: Vec<_> = RATES.into_iter().map(results).collect();
    std::fs::write(Path::new(&folder).join("cake-mq.svg"), picture(&all))?;
    std::fs::write(Path::new(&folder).join("cake-mq.md"), page(&all))?;
    Ok(())
}
