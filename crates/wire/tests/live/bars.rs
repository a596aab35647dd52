//! The bars for the engine under load; the benchmark `engine` measures them in the same way.

use goodqueue_wire::{Lab, LabSpec, Threads};

use crate::Outcome;
use crate::cases::{lab_or_skip, valid};
use crate::load::{MOST_ERROR, MOST_SHARE, Measured, Row, measure, row};
use crate::net::lab;

/// TCP through an engine with one thread, until its result is valid; without one the test is skipped, like
/// the others.
fn loaded(lab: &Lab, row: Row) -> Result<Measured, Outcome> {
    let measured = valid(|| {
        let measured = measure(lab, row, Threads::One);
        (measured.report, [measured.error, measured.busy])
    });
    let (report, [error, busy]) = match measured {
        Ok(measured) => measured,
        Err(machine) => return Err(Outcome::Skipped(machine)),
    };
    let measured = Measured { error, busy, report };
    println!(
        "  {}: busy {:.1} %, error {:+.4} %, {:.1} % of a processor, {:?}",
        row.name(),
        busy * 100.0,
        error * 100.0,
        measured.share() * 100.0,
        measured.report.last.lateness
    );
    // A line that is seldom busy would be no load.
    assert!(busy > 0.5, "{}: the line was busy for {:.1} % of the time", row.name(), busy * 100.0);
    assert!(error.abs() <= MOST_ERROR, "{}: the rate is {:+.3} % off", row.name(), error * 100.0);
    Ok(measured)
}

/// The bar for the engine at gigabits: valid by its rule, and exact, with a TCP segment in each frame.
pub(crate) fn a_gigabit_is_exact() -> Outcome {
    let lab = lab_or_skip!(&LabSpec::default());
    loaded(&lab, row("fq_codel", 1000)).map_or_else(|skipped| skipped, |_| Outcome::Passed)
}

/// 100 Mbit/s both ways. The bar is a quarter of a processor ([`MOST_SHARE`]), which the engine misses:
/// it takes about 40 % (docs/performance.md, "The live engine"; the benchmark `engine` has the bar). The
/// test keeps it from taking much more: before it sent in both directions at once, it took 59 to 71 %.
/// The build of the tests is slower than a release; it took 50 %.
pub(crate) fn traffic_both_ways_leaves_a_third_of_a_processor() -> Outcome {
    const MOST: f64 = 2.0 / 3.0;
    let lab = lab_or_skip!(&LabSpec::default());
    match loaded(&lab, Row { is_both_ways: true, ..row("fq_codel", 100) }) {
        Ok(measured) => {
            let (share, bar) = (measured.share() * 100.0, MOST_SHARE * 100.0);
            println!("  {share:.1} % of a processor; bar {bar:.0} %");
            assert!(measured.share() < MOST, "{share:.1} % of a processor");
            Outcome::Passed
        }
        Err(skipped) => skipped,
    }
}
