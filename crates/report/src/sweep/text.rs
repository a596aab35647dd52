//! The findings of a sweep on a terminal.

use std::fmt::Write as _;

use super::{Findings, basis_words, number};

/// Lines of a list before it is cut.
const MOST: usize = 20;

/// The findings as text.
#[must_use]
pub fn text(found: &Findings) -> String {
    let mut out = String::new();
    if !found.title.is_empty() {
        let _ = writeln!(out, "{}", found.title);
    }
    let seeds = found.seeds.len();
    let _ = writeln!(
        out,
        "{}: {} runs of {} {} with {seeds} {}",
        found.design,
        found.runs,
        found.queues.len(),
        if found.queues.len() == 1 { "variant" } else { "variants" },
        if seeds == 1 { "seed" } else { "seeds" }
    );
    for effects in &found.effects {
        let _ = writeln!(
            out,
            "\nMain effects on {}, from the mean of all, {}",
            effects.of.words(),
            number(effects.mean)
        );
        let wide = |of: &dyn Fn(&super::Factor) -> usize| effects.factors.iter().map(of).max().unwrap_or(0);
        let names = wide(&|factor| factor.name.chars().count());
        let levels =
            wide(&|factor| factor.levels.iter().map(|level| level.words.chars().count()).max().unwrap_or(0));
        for factor in &effects.factors {
            for (row, level) in factor.levels.iter().enumerate() {
                let name = if row == 0 { factor.name.as_str() } else { "" };
                let half = level.half.map(|half| format!(" ± {}", number(half))).unwrap_or_default();
                let sign = if level.effect >= 0.0 { "+" } else { "" };
                let _ = writeln!(
                    out,
                    "  {name:names$}  {:levels$}  {:>8}  {:>8}{half}",
                    level.words,
                    number(level.mean),
                    format!("{sign}{}", number(level.effect)),
                );
            }
        }
    }
    if let Some(effects) = found.effects.first() {
        let _ = writeln!(out, "{}", basis_words(effects.basis, seeds));
    }
    if let Some(front) = &found.front {
        let _ = writeln!(out, "\nPareto front: {} against {}", front.x.words(), front.y.words());
        for dot in front.front.iter().take(MOST) {
            let queue = found.queues.get(dot.queue).map_or("", String::as_str);
            let _ = writeln!(out, "  {:>8}  {:>8}  {queue}, {}", number(dot.x), number(dot.y), dot.words);
        }
        let more = front.front.len().saturating_sub(MOST);
        if more > 0 {
            let _ = writeln!(out, "  and {more} more");
        }
        let _ = writeln!(out, "  {} other points are behind it", front.others);
    }
    let most = if found.is_most { "Most" } else { "Least" };
    match &found.best {
        Some(best) => {
            let mean = number(best.mean);
            let _ = writeln!(
                out,
                "\n{most} {}: {}, {}\n  {mean} {}, mean of {} {}. {}",
                found.aim.figure,
                best.queue,
                best.words,
                found.aim.unit,
                best.seeds,
                if best.seeds == 1 { "seed" } else { "seeds" },
                best.verdict(&found.aim)
            );
        }
        None => {
            let _ = writeln!(
                out,
                "\nThere is no best point: none has a figure {} and meets the limits",
                found.aim.figure
            );
        }
    }
    failures(&mut out, found);
    out
}

fn failures(out: &mut String, found: &Findings) {
    if found.missing > 0 {
        let _ = writeln!(out, "\n{} points and seeds were not run", found.missing);
    }
    if found.failed.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{} runs failed:", found.failed.len());
    for failed in found.failed.iter().take(MOST) {
        let queue = if failed.queue.is_empty() { String::new() } else { format!("{}, ", failed.queue) };
        let _ = writeln!(out, "  {queue}{}, seed {}: {}", failed.words, failed.seed, failed.why);
    }
    let more = found.failed.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more, in the column `why` of points.parquet");
    }
}
