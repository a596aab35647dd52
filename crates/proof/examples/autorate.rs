//! Writes the page of results on following a varying link, and its pictures, into a folder:
//! `cargo run --release -p goodqueue-proof --example autorate -- docs`. With a second argument, the name of
//! a link, it prints what our controller decided there instead.

use std::error::Error;
use std::path::Path as File;
use std::sync::Mutex;

use goodqueue_proof::autorate::{Outcome, Policy, Results, SEEDS, all, page, picture, run};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    if let Some(name) = std::env::args().nth(2) {
        let path = all(1).into_iter().find(|path| path.name == name).ok_or("no such link")?;
        for decision in run(&path, Policy::Ours, 1)?.decisions {
            println!("{:.3} s {decision}", decision.at.0 as f64 / 1e9);
        }
        return Ok(());
    }
    let results = results()?;
    let pictures = File::new(&folder).join("autorate");
    std::fs::create_dir_all(&pictures)?;
    let mut names = Vec::new();
    for (name, way) in [("Starlink", 1), ("DOCSIS", 0)] {
        let shown = results.iter().find(|(path, _)| path.name == name);
        let Some((path, outcomes)) = shown else { continue };
        let file = format!("{}.svg", name.to_lowercase());
        let first: Vec<(Policy, Outcome)> =
            outcomes.iter().map(|(policy, outcomes)| (*policy, outcomes[0].clone())).collect();
        std::fs::write(pictures.join(&file), picture(path, way, &first))?;
        let direction = ["up", "down"][way];
        names.push((file, format!("{name}, {direction}: the rate of the link and those of the shapers")));
    }
    std::fs::write(File::new(&folder).join("autorate.md"), page(&results, &names))?;
    Ok(())
}

/// All runs, on all processors.
fn results() -> Result<Vec<Results>, Box<dyn Error>> {
    let paths = all(1).len();
    let jobs = SEEDS
        .flat_map(|seed| (0..paths).flat_map(move |path| Policy::ALL.map(|policy| (seed, path, policy))));
    let (jobs, done) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                let next = || jobs.lock().ok()?.next();
                while let Some((seed, path, policy)) = next() {
                    let outcome = run(&all(seed)[path], policy, seed);
                    let Ok(mut done) = done.lock() else { return };
                    done.push(((path, policy as usize, seed), outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().map_err(|_| "a run panicked")?;
    done.sort_by_key(|(at, _)| *at);
    let mut results: Vec<Results> = all(1)
        .into_iter()
        .map(|path| (path, Policy::ALL.map(|policy| (policy, Vec::new())).into()))
        .collect();
    for ((path, policy, _), outcome) in done {
        results[path].1[policy].1.push(outcome?);
    }
    Ok(results)
}
