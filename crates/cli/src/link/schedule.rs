//! Changes of a link at times that were said before: `--at 10s:rate=2mbit,rtt=200ms`.

use std::collections::VecDeque;
use std::time::Duration;

use goodqueue_experiment::Error;
use goodqueue_experiment::live::link::{Link, LinkChange};

use super::control::change_of;
use crate::args::LinkSetArgs;
use crate::path_values::positive;

/// The changes that are still to come, the next one first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schedule(VecDeque<(Duration, LinkChange)>);

impl Schedule {
    /// Reads the values of `--at`.
    ///
    /// # Errors
    /// [`Error::Usage`] with the value that is wrong.
    pub(crate) fn read(texts: &[String]) -> Result<Schedule, Error> {
        let mut all = texts.iter().map(|text| change(text)).collect::<Result<Vec<_>, Error>>()?;
        // Of those at the same time, the last one that was typed counts last.
        all.sort_by_key(|(at, _)| *at);
        Ok(Schedule(all.into()))
    }

    /// Makes the changes that are due since the link began; returns them.
    pub(crate) fn apply(&mut self, link: &mut Link) -> Vec<LinkChange> {
        let mut done = Vec::new();
        while let Some((_, change)) = self.0.pop_front_if(|(at, _)| link.age() >= *at) {
            // Every value was checked when it was read.
            if link.change(&change).is_ok() {
                done.push(change);
            }
        }
        done
    }
}

fn change(text: &str) -> Result<(Duration, LinkChange), Error> {
    let wrong = |why: &str| Error::Usage(format!("--at {text}: {why}"));
    let (time, changes) =
        text.split_once(':').ok_or_else(|| wrong("write TIME:NAME=VALUE, as 10s:rate=2mbit,loss=1%"))?;
    let at = positive("at", time)?;
    let mut args = LinkSetArgs::default();
    for change in changes.split(',') {
        let (name, value) =
            change.split_once('=').ok_or_else(|| wrong(&format!("`{change}` has no value")))?;
        let place = match name {
            "rate" => &mut args.rate,
            "up" => &mut args.up,
            "down" => &mut args.down,
            "rtt" => &mut args.rtt,
            "loss" => &mut args.loss,
            _ => return Err(wrong(&format!("there is no `{name}`; use rate, up, down, rtt or loss"))),
        };
        if place.replace(value.to_owned()).is_some() {
            return Err(wrong(&format!("`{name}` is given twice")));
        }
    }
    Ok((Duration::from_nanos(at.0), change_of(&args).map_err(|error| wrong(&error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(texts: &[&str]) -> Result<Vec<(Duration, LinkChange)>, String> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        Schedule::read(&texts).map(|schedule| schedule.0.into()).map_err(|error| error.to_string())
    }

    #[test]
    fn changes_come_in_the_order_of_their_times() {
        let schedule = read(&["20s:rate=20mbit", "500ms:down=2mbit,rtt=200ms,loss=1%"]).unwrap();
        let first = LinkChange {
            down_bps: Some(2_000_000),
            rtt_ns: Some(200_000_000),
            loss: Some(0.01),
            up_bps: None,
        };
        let second =
            LinkChange { down_bps: Some(20_000_000), up_bps: Some(20_000_000), rtt_ns: None, loss: None };
        assert_eq!(schedule, [(Duration::from_millis(500), first), (Duration::from_secs(20), second)]);
    }

    #[test]
    fn wrong_changes_are_named() {
        for (text, why) in [
            ("10s", "--at 10s: write TIME:NAME=VALUE"),
            ("soon:rate=1mbit", "--at soon: not a number of at least zero; write a time with its unit"),
            ("1s:speed=1mbit", "there is no `speed`; use rate, up, down, rtt or loss"),
            ("1s:rate", "`rate` has no value"),
            ("1s:", "`` has no value"),
            ("1s:rate=1mbit,rate=2mbit", "`rate` is given twice"),
            ("1s:rate=0mbit", "rate"),
            ("1s:loss=2", "loss"),
        ] {
            let error = read(&[text]).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// A change as somebody types it.
    fn typed((at, change): &(Duration, LinkChange)) -> String {
        let rate = |name: &str, bps: Option<u64>| bps.map(|bps| format!("{name}={bps}bit"));
        let rtt = change.rtt_ns.map(|ns| format!("rtt={ns}ns"));
        let loss = change.loss.map(|share| format!("loss={share}"));
        let all = [rate("up", change.up_bps), rate("down", change.down_bps), rtt, loss];
        format!("{}ns:{}", at.as_nanos(), all.into_iter().flatten().collect::<Vec<_>>().join(","))
    }

    const CHANGE: &str = "(rate|up|down|rtt|loss)=[0-9]{1,3}(\\.[0-9])?(kbit|mbit|gbit|us|ms|s|%|)";

    proptest! {
        #[test]
        fn no_words_panic_and_what_is_read_is_read_again(
            any in "\\PC{0,30}",
            time in "[0-9]{1,4}(\\.[0-9])?(us|ms|s|min|h|)",
            changes in proptest::collection::vec(CHANGE, 1..4),
        ) {
            let words = format!("{time}:{}", changes.join(","));
            for text in [any, words] {
                match read(&[&text]) {
                    Ok(found) => {
                        let again = typed(&found[0]);
                        prop_assert_eq!(read(&[&again]), Ok(found), "{} {}", text, again);
                    }
                    Err(why) => prop_assert!(why.starts_with("--at"), "{}", why),
                }
            }
        }
    }
}
