//! Options of the access point's driver that Linux does not have: the ideas of `docs/wifi-ideas.md`.

use goodqueue::wifi::AdmissionParams;
use goodqueue_sim::wifi::{DqlScope, Ideas};

use super::super::read::{self, Read, Wrong};
use super::chain::{Chain, word};
use crate::text::keys::drivers::Driver;

/// The ideas that are on, and their text, which follows that of the driver.
pub(super) fn read(chain: &Chain<'_>, driver: &Driver) -> Read<(Ideas, String)> {
    let mut ideas = Ideas {
        fill_ahead: chain.plain("fill_ahead", read::span)?,
        lifetime: chain.plain("lifetime", read::span)?,
        latency_budget: chain.plain("latency_budget", read::span)?,
        combine: driver.is_ath9k()
            && !driver.has_fifos()
            && chain.plain("combine", read::switch)?.unwrap_or(false),
        ..Ideas::NONE
    };
    if !driver.has_fifos() {
        let is_admitted = chain.plain("admission", read::switch)?.unwrap_or(false);
        ideas.admission = is_admitted.then(AdmissionParams::default);
        if let Some(limit) = chain.read("limit", word)? {
            ideas.dql = scope(&limit.value);
            if ideas.dql.is_some() && driver.is_ath9k() {
                let what = "limit: byte queue limits are for firmware that aggregates, driver = \"ath10k\"";
                return Err(Wrong::new(limit.at, what.to_string()));
            }
        }
    }
    Ok((ideas, words(&ideas)))
}

/// What byte queue limits count, if `limit` selects them.
fn scope(limit: &str) -> Option<DqlScope> {
    match limit {
        "dql" => Some(DqlScope::Hardware),
        "dql-station" => Some(DqlScope::Station),
        _ => None,
    }
}

fn words(ideas: &Ideas) -> String {
    list(ideas).iter().map(|(name, value)| format!(", {name} {value}")).collect()
}

/// Each idea that is on, with its value.
pub(crate) fn list(ideas: &Ideas) -> Vec<(&'static str, String)> {
    let dql = ideas.dql.map(|scope| match scope {
        DqlScope::Hardware => "by hardware queue".to_string(),
        DqlScope::Station => "by station".to_string(),
    });
    let time = |time: Option<goodqueue::Span>| time.map(|time| time.to_string());
    let on = |is_on: bool| is_on.then(|| "on".to_string());
    let all = [
        ("byte queue limits", dql),
        ("next PPDU built before the end by", time(ideas.fill_ahead)),
        ("lifetime of frames", time(ideas.lifetime)),
        ("latency budget of aggregates", time(ideas.latency_budget)),
        ("soft admission", on(ideas.admission.is_some())),
        ("aggregates over levels", on(ideas.combine)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
