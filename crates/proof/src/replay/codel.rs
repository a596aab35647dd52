//! `codel` and `fq_codel` under replay.

use goodqueue::codel::{Parity, State, Ticks};
use goodqueue::{Codel, Configurable, FqCodel, Inspect, Link, Nanos, Queue};
use goodqueue::{codel as codel_queue, fq_codel as fq_codel_queue};

use super::Fault;
use super::format::Input;
use super::subject::{Results, Setup, Subject, call, changed, common_state, hash_of, set};
use super::text::{Number, field};

/// The law's effective parameters in ticks of 1024 ns.
fn law_effective(ticks: Ticks, key: &str) -> Option<Number> {
    Some(match key {
        "target_units" => ticks.target.into(),
        "interval_units" => ticks.interval.into(),
        "ce_threshold_units" => ticks.ce_threshold.into(),
        _ => return None,
    })
}

fn law_state(state: &State, key: &str) -> Option<Number> {
    field!(key, state, count, lastcount, dropping, rec_inv_sqrt, first_above_time, drop_next, ldelay)
}

fn law_counters(counters: &codel_queue::Counters, key: &str) -> Option<Number> {
    field!(key, counters, ecn_mark, ce_mark, maxpacket)
}

struct CodelSubject {
    queue: Codel<goodqueue::Header>,
    link: Link,
}

pub(super) fn codel(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params =
        setup.params(codel_queue::Params { parity: Parity::Linux, ..codel_queue::Params::default() }, set)?;
    let link = setup.link();
    let (start, places) = (Nanos(setup.header.start_ns), Setup::places(setup.arrivals + 1));
    let queue = Codel::new(start, params, link, places).map_err(|error| setup.fault(error))?;
    Ok(Box::new(CodelSubject { queue, link }))
}

impl Subject for CodelSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        match key {
            "limit" => Some(params.limit.into()),
            "ecn" => Some(params.ecn.into()),
            "mtu_backlog" => Some(self.link.mtu.into()),
            _ => law_effective(params.ticks(), key),
        }
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        let link = self.link;
        call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set)?;
            queue.configure(now, params, link, collect).map_err(|error| error.to_string())
        })?;
        Ok(())
    }

    fn state(&self, key: &str) -> Option<Number> {
        if key == "drop_overlimit" {
            return Some(self.queue.drop_overlimit().into());
        }
        common_state(key, self.queue.backlog(), self.queue.stats())
            .or_else(|| law_counters(self.queue.codel_counters(), key))
            .or_else(|| law_state(&self.queue.state(), key))
    }
}

struct FqCodelSubject {
    queue: FqCodel<goodqueue::Header>,
    link: Link,
    /// Bucket of the packet enqueued or delivered last.
    bucket: u32,
}

fn set_fq_codel(params: &mut fq_codel_queue::Params, key: &str, value: Number) -> Result<(), String> {
    set(params, key, value)?;
    // Linux 6.1 sch_fq_codel.c:fq_codel_change.
    params.quantum = params.quantum.map(|quantum| quantum.max(256));
    params.memory_limit = params.memory_limit.min(1 << 31);
    Ok(())
}

pub(super) fn fq_codel(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = setup.params(
        fq_codel_queue::Params { parity: Parity::Linux, ..fq_codel_queue::Params::default() },
        set_fq_codel,
    )?;
    let (link, start) = (setup.link(), Nanos(setup.header.start_ns));
    let parts = (Setup::places(setup.flows(params.flows)?), Setup::places(setup.arrivals + 1));
    let queue = FqCodel::new(start, params, link, parts).map_err(|error| setup.fault(error))?;
    Ok(Box::new(FqCodelSubject { queue, link, bucket: 0 }))
}

impl FqCodelSubject {
    fn bucket_state(&self, key: &str) -> Option<Number> {
        let state = self.queue.flow_state(self.bucket)?;
        field!(key, state, qlen, backlog, deficit).or_else(|| law_state(&state.codel, key))
    }
}

impl Subject for FqCodelSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit.into(),
            "flows" => params.flows.into(),
            "ecn" => params.ecn.into(),
            "mtu_backlog" => self.link.mtu.into(),
            "quantum" => params.quantum(self.link).into(),
            "memory_limit" => params.memory_limit.into(),
            "drop_batch_size" => params.drop_batch.into(),
            "ce_threshold_selector" => params.ce_threshold_selector.into(),
            "ce_threshold_mask" => params.ce_threshold_mask.into(),
            _ => return law_effective(params.codel().ticks(), key),
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        let link = self.link;
        let delivered = call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set_fq_codel)?;
            if params.flows != queue.params().flows {
                return Err("flows is fixed at creation".to_string());
            }
            queue.configure(now, params, link, collect).map_err(|error| error.to_string())
        })?;
        self.bucket = hash_of(input, delivered).map_or(self.bucket, |hash| self.queue.bucket(hash));
        Ok(())
    }

    fn state(&self, key: &str) -> Option<Number> {
        if let Some(key) = key.strip_prefix("b_") {
            return self.bucket_state(key);
        }
        let counters = self.queue.fq_counters();
        Some(match key {
            "memory_usage" => self.queue.memory_usage().into(),
            "new_flows_len" => self.queue.waiting_flows()?.0.into(),
            "old_flows_len" => self.queue.waiting_flows()?.1.into(),
            "bucket" => self.bucket.into(),
            _ => {
                return common_state(key, self.queue.backlog(), self.queue.stats())
                    .or_else(|| law_counters(self.queue.codel_counters(), key))
                    .or_else(|| field!(key, counters, drop_overlimit, drop_overmemory, new_flow_count));
            }
        })
    }
}
