//! The keys of a sweep.

use goodqueue_report::compare::FIGURES;

use super::key::{Kind, Table, count, key};

/// The names of the figures of a sweep.
const NAMES: [Kind; FIGURES.len()] = {
    let mut names = [Kind::Text; FIGURES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Kind::Word(FIGURES[at].name);
        at += 1;
    }
    names
};

/// Any number.
const NUMBER: Kind = Kind::Number { least: i32::MIN, most: i32::MAX };

/// Most points of a design that is not a grid.
const MOST_POINTS: u64 = 10_000_000;

/// A sweep over keys.
pub(crate) static SWEEP: Table = Table {
    name: "sweep",
    doc: "A sweep over keys of the experiment, for `goodqueue sweep`. Each point is run with all seeds and \
          all variants. `goodqueue run` leaves this table out.",
    keys: &[
        key("axis", Kind::Tables(&AXIS), "required", "the keys that vary"),
        key(
            "base",
            Kind::Text,
            "this file",
            "the file of the experiment, in the folder of this file, which then has nothing but [sweep]",
        ),
        key(
            "design",
            Kind::OneOf(&[
                Kind::Word("grid"),
                Kind::Word("random"),
                Kind::Word("latin"),
                Kind::Word("halving"),
                Kind::Word("bayes"),
            ]),
            "grid",
            "grid: each value with each; random: points drawn at random; latin: a Latin hypercube; halving: \
             a Latin hypercube of which ever fewer points get ever more seeds; bayes: Optuna chooses each \
             point from those before it (needs the Python package with goodqueue[optuna])",
        ),
        key("points", count(2, MOST_POINTS), "required, unless a grid", "number of points"),
        key("seed", count(0, i64::MAX as u64), "1", "root of what the design draws at random"),
        key("minimise", Kind::OneOf(&NAMES), "rise_p95", "the best point has least of this figure"),
        key(
            "maximise",
            Kind::OneOf(&NAMES),
            "none",
            "the best point has most of this figure, instead of minimise",
        ),
        key(
            "limits",
            Kind::List(&Kind::Text),
            "none",
            "a point that crosses one is not the best: \"goodput_up < 9mbit\"",
        ),
        key(
            "keep",
            count(2, 100),
            "3",
            "of halving: one in so many points goes on, with so many times the seeds",
        ),
        key("verify", count(0, 1000), "5", "number of fresh seeds with which the best point runs again"),
    ],
    also: None,
};

/// An axis of a sweep.
pub(crate) static AXIS: Table = Table {
    name: "sweep.axis",
    doc: "A key that varies, with a list of values or a range.",
    keys: &[
        key(
            "key",
            Kind::Text,
            "required",
            "the key, as in --set: link.rate, variant.NAME.queue, flow.1.count",
        ),
        key(
            "values",
            Kind::List(&Kind::OneOf(&[Kind::Text, NUMBER, Kind::Switch, Kind::List(&Kind::Text)])),
            "none",
            "its values, one by one",
        ),
        key(
            "from",
            Kind::OneOf(&[Kind::Text, NUMBER]),
            "none",
            "the least value of a range, instead of values",
        ),
        key("to", Kind::OneOf(&[Kind::Text, NUMBER]), "none", "the largest value of the range"),
        key("steps", count(2, 100_000), "required in a grid", "number of values of the range"),
        key(
            "scale",
            Kind::OneOf(&[Kind::Word("lin"), Kind::Word("log")]),
            "lin",
            "whether equal steps are equal differences or equal ratios",
        ),
        key("text", Kind::Text, "the value", "the text around the value: \"fq_codel,target={}\""),
        key("name", Kind::Text, "the key", "what reports call the axis"),
    ],
    also: None,
};
