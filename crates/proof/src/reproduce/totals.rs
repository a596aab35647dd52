//! How many claims of each kind have which verdict.

use std::collections::BTreeMap;

use super::judge::{Outcome, Verdict};
use goodqueue_experiment::text::ClaimKind;

/// The counts. Claims about one published figure count once, with the worst verdict.
pub(super) struct Totals {
    counts: BTreeMap<ClaimKind, [usize; 3]>,
    /// Claims that count with another one.
    pub(super) repeated: usize,
}

impl Totals {
    pub(super) fn of(outcomes: &[Outcome]) -> Totals {
        let mut worst: BTreeMap<(ClaimKind, &str), Verdict> = BTreeMap::new();
        let mut totals = Totals { counts: BTreeMap::new(), repeated: 0 };
        for row in outcomes.iter().flat_map(|outcome| &outcome.claims) {
            match &row.same {
                None => totals.count(row.kind, row.verdict),
                Some(name) => {
                    let verdict = worst.entry((row.kind, name.as_str())).and_modify(|verdict| {
                        totals.repeated += 1;
                        *verdict = row.verdict.max(*verdict);
                    });
                    verdict.or_insert(row.verdict);
                }
            }
        }
        worst.into_iter().for_each(|((kind, _), verdict)| totals.count(kind, verdict));
        totals
    }

    fn count(&mut self, kind: ClaimKind, verdict: Verdict) {
        let counts = self.counts.entry(kind).or_default();
        for (count, of) in counts.iter_mut().zip(Verdict::ALL) {
            *count += usize::from(of == verdict);
        }
    }

    /// In the order of [`Verdict::ALL`].
    pub(super) fn of_kind(&self, kind: ClaimKind) -> [usize; 3] {
        self.counts.get(&kind).copied().unwrap_or_default()
    }
}
