//! `fq_pie` under replay.

use goodqueue::fq_pie::{Params, UPDATED_AT_ONCE};
use goodqueue::{Configurable, FqPie, Header, Heap, Inspect, Link, Nanos, Queue};

use super::Fault;
use super::format::Input;
use super::pie::{law_effective, vars};
use super::subject::{
    Recorded, Results, Setup, Subject, call, call_timer, changed, common_state, hash_of, set,
};
use super::text::{Number, field};

struct FqPieSubject {
    queue: FqPie<Header, Heap, Recorded>,
    link: Link,
    /// Bucket of the packet enqueued or delivered last.
    bucket: u32,
    /// Further runs of the reference's timer at the same time. Ours updates all buckets in one run.
    runs_left: u32,
}

fn set_fq_pie(params: &mut Params, key: &str, value: Number) -> Result<(), String> {
    set(params, key, value)?;
    // Linux 6.1 sch_fq_pie.c:fq_pie_change.
    params.quantum = params.quantum.map(|quantum| quantum.max(256));
    Ok(())
}

pub(super) fn fq_pie(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = setup.params(Params { hz: setup.header.hz, ..Params::default() }, set_fq_pie)?;
    let (start, draws) = (Nanos(setup.header.start_ns), Recorded::new(setup.draws));
    let (buckets, slots) = (Setup::places(setup.flows(params.flows)?), Setup::places(setup.arrivals + 1));
    let link = setup.link();
    let parts = (draws, buckets, slots);
    let queue = FqPie::new(start, params, link, parts).map_err(|error| setup.fault(error))?;
    Ok(Box::new(FqPieSubject { queue, link, bucket: 0, runs_left: 0 }))
}

impl FqPieSubject {
    fn bucket_state(&self, key: &str) -> Option<Number> {
        let state = self.queue.flow_state(self.bucket)?;
        field!(key, state, qlen, backlog, deficit).or_else(|| vars(&state.vars, key))
    }

    /// A run of the reference's timer. The first run of a round is our only one.
    fn timer(&mut self, now: Nanos) {
        if self.runs_left > 0 {
            self.runs_left -= 1;
            return;
        }
        self.queue.advance(now);
        let is_last = self.queue.next_update().is_none();
        self.runs_left = if is_last { 0 } else { self.queue.params().flows.div_ceil(UPDATED_AT_ONCE) - 1 };
    }
}

impl Subject for FqPieSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit.into(),
            "flows" => params.flows.into(),
            "quantum" => params.quantum(self.link).into(),
            "memory_limit" => params.memory_limit.into(),
            "ecn_prob" => params.ecn_prob.into(),
            _ => return law_effective(&params.pie(), key),
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        let due = if self.runs_left > 0 { Some(now) } else { self.queue.next_update() };
        if call_timer(now, input, due, results) {
            self.timer(now);
            return Ok(());
        }
        let link = self.link;
        let delivered = call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set_fq_pie)?;
            if params.flows != queue.params().flows {
                return Err("flows is fixed at creation".to_string());
            }
            queue.configure(now, params, link, collect).map_err(|error| error.to_string())
        })?;
        self.bucket = hash_of(input, delivered).map_or(self.bucket, |hash| self.queue.bucket(hash));
        Ok(())
    }

    fn draws(&mut self) -> Option<&mut Recorded> {
        Some(self.queue.draws_mut())
    }

    fn state(&self, key: &str) -> Option<Number> {
        if let Some(key) = key.strip_prefix("b_") {
            return self.bucket_state(key);
        }
        let counters = self.queue.fq_pie_counters();
        Some(match key {
            "memory_usage" => self.queue.memory_usage().into(),
            "new_flows_len" => self.queue.waiting_flows()?.0.into(),
            "old_flows_len" => self.queue.waiting_flows()?.1.into(),
            "flows_cursor" => self.queue.flows_cursor().into(),
            "bucket" => self.bucket.into(),
            _ => {
                return field!(
                    key,
                    counters,
                    packets_in,
                    dropped,
                    overlimit,
                    overmemory,
                    ecn_mark,
                    new_flow_count
                )
                .or_else(|| common_state(key, self.queue.backlog(), self.queue.stats()));
            }
        })
    }
}
