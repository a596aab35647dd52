//! Checks: the answer to a `Q`, key by key.

use goodqueue::wifi::{Ac, FlowState, StationId, TxqId};

use super::calls::Stack;
use crate::replay::Fault;
use crate::replay::text::{Entry, number};

/// The subject of a `Q`, and how much of the answer was compared.
pub(super) struct Question {
    pub(super) txq: Option<TxqId>,
    /// Flow lines compared.
    pub(super) flows: usize,
}

/// Whose state a line is, found from its first fields.
enum Subject {
    Radio,
    Category(Ac),
    Station(StationId),
    Account(StationId, Ac),
    Txq(TxqId),
    Flow(FlowState),
    /// There is none of ours.
    Missing,
}

fn find<'a>(entries: &[Entry<'a>], name: &str) -> Option<&'a str> {
    entries.iter().find(|entry| entry.key == name).map(|entry| entry.value)
}

impl Question {
    /// Our values for an `S` line, by their keys.
    pub(super) fn state<'a>(
        &mut self,
        stack: &'a Stack,
        line: usize,
        entries: &'a [Entry<'_>],
    ) -> Result<impl FnMut(&str) -> Option<String> + use<'a>, Fault> {
        let subject = self.subject(stack, line, entries)?;
        Ok(move |key: &str| match subject {
            Subject::Missing => Some("nothing".to_string()),
            // What names the subject was read already.
            _ if matches!(key, "sta" | "tid" | "ac") => find(entries, key).map(str::to_owned),
            _ => subject.value(stack, key),
        })
    }

    fn subject(&mut self, stack: &Stack, line: usize, entries: &[Entry<'_>]) -> Result<Subject, Fault> {
        let find = |name: &str| find(entries, name);
        let ac = |text: &str| {
            let index: usize = number(line, "ac", text)?;
            Ac::ALL.get(index).copied().ok_or_else(|| Fault::at(line, "an access category is 0 to 3"))
        };
        let Some(sta) = find("sta") else {
            return Ok(match find("ac") {
                Some(text) => Subject::Category(ac(text)?),
                None => Subject::Radio,
            });
        };
        let sta = number(line, "sta", sta)?;
        let Some(tid) = find("tid") else {
            let station = stack.station(line, sta)?;
            return Ok(match find("ac") {
                Some(text) => Subject::Account(station, ac(text)?),
                None => Subject::Station(station),
            });
        };
        let txq = stack.txq(line, sta, number(line, "tid", tid)?)?;
        if find("flow").is_none() {
            return Ok(Subject::Txq(txq));
        }
        let flow = self.txq.and_then(|txq| stack.stack.flows(txq).nth(self.flows));
        self.flows += 1;
        Ok(flow.map_or(Subject::Missing, Subject::Flow))
    }

    /// Flow lines that the reference did not have.
    pub(super) fn flows_left(&self, stack: &Stack) -> usize {
        self.txq.map_or(0, |txq| stack.stack.flows(txq).count().saturating_sub(self.flows))
    }
}

impl Subject {
    /// A value under its key; `None` if there is no such key, "nothing" where there is no such subject.
    fn value(&self, stack: &Stack, key: &str) -> Option<String> {
        let nothing = || Some("nothing".to_string());
        match *self {
            Subject::Radio => radio(stack, key),
            Subject::Category(ac) => category(stack, ac, key),
            Subject::Station(station) => match stack.stack.station_stats(station) {
                None => nothing(),
                Some(stats) => Some(match key {
                    "weight" => stats.weight.to_string(),
                    "target" => (stats.target.0 >> 10).to_string(),
                    "interval" => (stats.interval.0 >> 10).to_string(),
                    "ecn" => u8::from(stats.ecn).to_string(),
                    _ => return None,
                }),
            },
            Subject::Account(station, ac) => match stack.stack.airtime_stats(station, ac) {
                None => nothing(),
                Some(stats) => Some(match key {
                    "deficit" => stats.deficit.to_string(),
                    "pending" => stats.pending.to_string(),
                    "aql_low" => stats.aql_limits.low.to_string(),
                    "aql_high" => stats.aql_limits.high.to_string(),
                    "last_active" => stats.last_active.to_string(),
                    "tx_airtime" => stats.tx_airtime.to_string(),
                    "rx_airtime" => stats.rx_airtime.to_string(),
                    _ => return None,
                }),
            },
            Subject::Txq(txq) => txq_value(stack, txq, key),
            Subject::Flow(ref flow) => flow_value(flow, key),
            Subject::Missing => nothing(),
        }
    }
}

fn radio(stack: &Stack, key: &str) -> Option<String> {
    let stats = stack.stack.radio_stats();
    Some(match key {
        "backlog" => stats.backlog.to_string(),
        "memory" => stats.memory.to_string(),
        "overlimit" => stats.overlimit.to_string(),
        "overmemory" => stats.overmemory.to_string(),
        "collisions" => stats.collisions.to_string(),
        "num_sta" => stats.stations.to_string(),
        "aql_total" => stats.aql_total.to_string(),
        "aql_ac" => stats.aql_by_ac.map(|micros| micros.to_string()).join(","),
        _ => return None,
    })
}

fn category(stack: &Stack, ac: Ac, key: &str) -> Option<String> {
    Some(match key {
        "round" => stack.stack.round(ac).to_string(),
        "list" => {
            let names: Vec<String> =
                stack.stack.scheduled(ac).map(|txq| stack.txq_name(txq, ["", "."])).collect();
            if names.is_empty() { "-".to_string() } else { names.join(",") }
        }
        _ => return None,
    })
}

fn txq_value(stack: &Stack, txq: TxqId, key: &str) -> Option<String> {
    let Some(stats) = stack.stack.txq_stats(txq) else { return Some("nothing".to_string()) };
    Some(match key {
        "backlog_bytes" => stats.backlog_bytes.to_string(),
        "backlog_packets" => stats.backlog_packets.to_string(),
        "flows" => stats.flows.to_string(),
        "overlimit" => stats.overlimit.to_string(),
        "collisions" => stats.collisions.to_string(),
        "tx_bytes" => stats.tx_bytes.to_string(),
        "tx_packets" => stats.tx_packets.to_string(),
        "codel_drops" => stats.codel_drops.to_string(),
        "codel_drop_len" => stats.codel_drop_len.to_string(),
        "ecn_marks" => stats.ecn_marks.to_string(),
        "maxpacket" => stats.maxpacket.to_string(),
        _ => return None,
    })
}

fn flow_value(flow: &FlowState, key: &str) -> Option<String> {
    let codel = &flow.codel;
    Some(match key {
        "flow" => flow.index.map_or("default".to_string(), |index| index.to_string()),
        "list" => if flow.is_new { "new" } else { "old" }.to_string(),
        "packets" => flow.packets.to_string(),
        "bytes" => flow.bytes.to_string(),
        "deficit" => flow.deficit.to_string(),
        "count" => codel.count.to_string(),
        "lastcount" => codel.lastcount.to_string(),
        "dropping" => u8::from(codel.dropping).to_string(),
        "rec_inv_sqrt" => codel.rec_inv_sqrt.to_string(),
        "first_above" => codel.first_above_time.to_string(),
        "drop_next" => codel.drop_next.to_string(),
        "ldelay" => codel.ldelay.to_string(),
        _ => return None,
    })
}
