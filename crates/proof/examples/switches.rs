//! Writes the page of what each model that is off would do to the pages of reproductions:
//! `cargo run --release -p goodqueue-proof --example switches -- docs/switches.md`. With names of switches
//! behind it, only their sections are made anew.

use std::error::Error;

use goodqueue_proof::switches::{Pages, Switch, page};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("which file?")?;
    let mut switches = Vec::new();
    for word in words {
        let names = Switch::ALL.map(Switch::name).join(", ");
        switches.push(Switch::named(&word).ok_or(format!("{word}: the switches are {names}"))?);
    }
    let old = if switches.is_empty() { String::new() } else { std::fs::read_to_string(&file)? };
    if switches.is_empty() {
        switches = Switch::ALL.to_vec();
    }
    let (mut pages, mut results) = (Pages::default(), Vec::new());
    for switch in switches {
        results.push(pages.run(switch, &mut |page| eprintln!("{}: {page}", switch.name()))?);
        // Each is kept, whatever comes of the next one.
        std::fs::write(&file, page(&results, &old))?;
    }
    Ok(())
}
