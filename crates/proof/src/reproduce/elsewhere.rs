//! The runs of other scenarios by whose figures claims divide theirs (`over_in`).

use std::collections::BTreeMap;

use goodqueue_report::{Record, Run};

use super::judge::{Sample, elsewhere};
use super::run::all;
use goodqueue_experiment::text::{Claim, Elsewhere};
use goodqueue_experiment::{Error, Experiment, Monitor, did_you_mean};

/// The scenario of a name, or why there is none.
pub(crate) type Find<'a> = dyn Fn(&str) -> Result<Experiment, String> + 'a;

/// The other scenarios of a file, by name.
pub(super) struct Others(BTreeMap<String, Experiment>);

impl Others {
    /// Those of the claims in the file of this name, as `find` gives them.
    ///
    /// # Errors
    /// [`Error::Usage`] with the file's line if there is no such scenario or variant.
    pub(super) fn of(name: &str, claims: &[Claim], find: &Find<'_>) -> Result<Others, Error> {
        let mut all: BTreeMap<String, Experiment> = BTreeMap::new();
        for Elsewhere { scenario, variant, line } in claims.iter().filter_map(elsewhere) {
            let wrong =
                |why: String| Error::Usage(format!("{name}.toml:{line}: over_in = \"{scenario}\": {why}"));
            if !all.contains_key(scenario) {
                all.insert(scenario.clone(), find(scenario).map_err(wrong)?);
            }
            let labels: Vec<&str> =
                all[scenario].variants.iter().map(|variant| variant.label.as_str()).collect();
            if !labels.contains(&variant.as_str()) {
                let (known, nearest) = (labels.join("; "), did_you_mean(variant, &labels));
                return Err(wrong(format!("it has no variant `{variant}`; there are {known}{nearest}")));
            }
        }
        Ok(Others(all))
    }

    /// Runs what these claims need with these seeds, and adds its figures to their samples.
    ///
    /// # Errors
    /// Those of `goodqueue run`.
    pub(super) fn add(
        &self,
        open: &mut [(&Claim, &mut Sample)],
        seeds: &[u64],
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        for (scenario, experiment) in &self.0 {
            let of = |claim| elsewhere(claim).filter(|of| of.scenario == *scenario);
            let is_needed =
                |label: &str| open.iter().any(|(claim, _)| of(claim).is_some_and(|of| of.variant == label));
            let variants: Vec<_> =
                experiment.variants.iter().filter(|variant| is_needed(&variant.label)).cloned().collect();
            if variants.is_empty() {
                continue;
            }
            let needed = Experiment { seeds: seeds.to_vec(), variants, ..experiment.clone() };
            let mut record = needed.head(Record::default());
            let runs: Vec<Vec<Run>> = all(&needed, &mut record, monitor)?;
            for (claim, sample) in open.iter_mut() {
                let Some(Elsewhere { variant: label, .. }) = of(claim) else { continue };
                let place = needed.variants.iter().position(|variant| variant.label == *label);
                if let Some(runs) = place.and_then(|place| runs.get(place)) {
                    sample.add_elsewhere(claim, &record, runs);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::catalogue::published;
    use super::*;

    /// The file with these last lines of its claim.
    fn others(more: &str) -> Result<usize, String> {
        let text = format!(
            "test = {{ name = \"tcp_1up\", length = \"2s\" }}\nqueues = [\"codel\"]\nlink = {{ rate = \"5mbit\" }}\n\
             [reproduction]\ntitle = \"a\"\nsource = \"b\"\ntext = \"c\"\n[[claim]]\nid = \"d\"\nkind = \"measured\"\n\
             basis = \"e\"\nwhat = \"f\"\nclass = \"MED\"\nfigure = \"ping_p50\"\nvariant = \"codel\"\n\
             published = \"2\"\n{more}"
        );
        let experiment =
            Experiment::parse(&text, "growth.toml", Path::new("")).map_err(|error| error.to_string())?;
        let claims = experiment.reproduction.expect("claims").claims;
        Others::of("growth", &claims, &published)
            .map(|others| others.0.len())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn another_scenario_is_named_with_its_variant() {
        assert_eq!(others("over = \"codel\"\n"), Ok(0));
        assert_eq!(others("over = \"48 ms, codel\"\nover_in = \"rrul-110-10\"\n"), Ok(1));
        for (more, said) in [
            (
                "over_in = \"rrul-110-10\"\n",
                "growth.toml:17:11: over_in = \"rrul-110-10\" without `over`: name",
            ),
            (
                "over = \"48 ms, codel\"\nover_in = \"rrul-110-1\"\n",
                "growth.toml:18: over_in = \"rrul-110-1\": no published scenario is named rrul-110-1; did you mean",
            ),
            (
                "over = \"48 ms, coddel\"\nover_in = \"rrul-110-10\"\n",
                "growth.toml:18: over_in = \"rrul-110-10\": it has no variant `48 ms, coddel`; there are ",
            ),
            (
                "over = \"a\"\nover_in = \"rrul-110-10\"\nfrom = \"1s\"\n",
                "growth.toml:19:8: `from` does not go with `over_in`, whose scenario has its own: leave one out",
            ),
        ] {
            let error = others(more).expect_err(more);
            assert!(error.starts_with(said), "{error}");
        }
    }
}
