//! The rate of the shapers over time, as SVG.

use goodqueue::Rate;

use super::links::LENGTH;
use super::{Outcome, Path, Policy};

const SIZE: [f64; 2] = [860.0, 260.0];
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 30.0;

/// The rate of one direction of a link, and those that the controllers set, every 100 ms.
#[must_use]
pub fn picture(path: &Path, way: usize, outcomes: &[(Policy, Outcome)]) -> String {
    let [_, _, most] = path.lines[way].least_mean_most();
    let most = most.0 as f64 * 1.3;
    let line = |rates: &[Rate], colour: &str, width: f64| {
        let mut points = String::new();
        for (step, rate) in rates.iter().enumerate() {
            let x = LEFT + (SIZE[0] - LEFT) * step as f64 / (LENGTH.as_secs_f64() * 10.0);
            let y = TOP + (SIZE[1] - TOP - BOTTOM) * (1.0 - (rate.0 as f64 / most).min(1.0));
            points += &format!("{x:.1},{y:.1} ");
        }
        let points = points.trim_end();
        format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" points=\"{points}\"/>\n"
        )
    };
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    let [width, height] = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let link: Vec<Rate> = (0..LENGTH.0 / 100_000_000)
        .map(|step| path.lines[way].rate_at(goodqueue::Span::from_millis(100 * step)))
        .collect();
    out += &line(&link, "#bbb", 4.0);
    let shown = [(Policy::CakeAutorate, "#d55e00"), (Policy::Ours, "#0072b2")];
    for (policy, colour) in shown {
        for (_, outcome) in outcomes.iter().filter(|(other, _)| *other == policy) {
            out += &line(&outcome.ways[way].rates, colour, 1.2);
        }
    }
    for part in 0..5_u32 {
        let share = f64::from(part) / 4.0;
        let y = TOP + (SIZE[1] - TOP - BOTTOM) * (1.0 - share);
        out += &text(LEFT - 6.0, y + 4.0, "end", &format!("{:.0}", most * share / 1e6));
        let x = LEFT + (SIZE[0] - LEFT) * share * 100.0 / LENGTH.as_secs_f64();
        out += &text(x, SIZE[1] - BOTTOM + 18.0, "middle", &format!("{:.0} s", share * 100.0));
    }
    let names = [("#999", "the link"), ("#d55e00", "cake-autorate's rules"), ("#0072b2", "ours")];
    out += &text(LEFT, 18.0, "start", &format!("{}, {}: Mbit/s", path.name, ["up", "down"][way]));
    for (at, (colour, name)) in names.iter().enumerate() {
        let x = LEFT + 260.0 + 170.0 * at as f64;
        out += &format!("<text x=\"{x:.0}\" y=\"18\" fill=\"{colour}\">{name}</text>\n");
    }
    out + "</svg>\n"
}
