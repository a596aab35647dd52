//! x
use goodqueue_proof::autorate::{Who, all, run};
fn main() {
    let only = std::env::args().nth(1);
    let who_only = std::env::args().nth(2);
    for path in all() {
        if only.as_deref().is_some_and(|only| !path.name.contains(only)) { continue; }
        println!("{}", path.name);
        let t0 = std::time::Instant::now();
        let outcomes: Vec<_> = std::thread::scope(|s| {
            let hs: Vec<_> = Who::ALL.iter().map(|&who| { let path=&path; s.spawn(move || (who, run(path, who, 1).unwrap())) }).collect();
            hs.into_iter().map(|h| h.join().unwrap()).collect()
        });
        let oracle = outcomes.last().unwrap().1.clone();
        for (who, o) in &outcomes {
            for w in 0..2 {
                let (a, b) = (&o.ways[w], &oracle.ways[w]);
                println!("  {:22} {} {:7.2} {:5.1}%  med {:7.2} p95 {:7.2} x{:.2}", who.name(), ["up","down"][w], a.goodput/1e6, 100.0*a.goodput/b.goodput, a.rise[0], a.rise[1], a.rise[1]/b.rise[1]);
            }
            if who_only.as_deref() == Some("log") && *who == Who::Ours { for d in &o.decisions { println!("{:.3} {}", d.at.0 as f64/1e9, d); } }
        }
        eprintln!("{:?}", t0.elapsed());
    }
}
