//! `fq_pie` under replay.

use goodqueue::arena::Slot;
use goodqueue::fq_pie::{Flow, FlowState, Params, UPDATED_AT_ONCE};
use goodqueue::pie::Stamped;
use goodqueue::{FqPie, Header, Nanos, Queue};

use super::Fault;
use super::format::{Input, Number};
use super::pie::{law, law_effective, set_law, vars};
use super::subject::{
    Recorded, Results, Setup, Subject, call, call_timer, changed, common_state, hash_of, narrow,
};

struct FqPieSubject {
    queue: FqPie<Header, Vec<Flow>, Vec<Slot<Stamped<Header>>>, Recorded>,
    flows: u32,
    /// Bucket of the packet enqueued or delivered last.
    bucket: u32,
    /// Runs of the reference's timer to come at this very time: ours takes all buckets in one.
    runs_left: u32,
}

fn set(params: &mut Params, key: &str, value: Number) -> Result<(), String> {
    match key {
        "limit" => params.limit = narrow(key, value)?,
        // Linux 6.1 sch_fq_pie.c:fq_pie_change raises a quantum given to 256 at least.
        "quantum" => params.quantum = narrow::<u32>(key, value)?.max(256),
        "memory_limit" => params.memory_limit = narrow(key, value)?,
        "ecn_prob" => params.ecn_prob = narrow(key, value)?,
        "flows" => return Err("flows is fixed at creation".to_string()),
        _ if set_law(&mut params.law, key, value)? => {}
        _ => return Err(format!("unknown parameter `{key}`")),
    }
    Ok(())
}

pub(super) fn fq_pie(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let mut params = Params { quantum: setup.mtu(), law: law(setup), ..Params::default() };
    let mut flows = 1024_u32;
    for entry in &setup.header.params {
        let set = if entry.key == "flows" {
            let given = narrow("flows", entry.value).ok().filter(|given| (1..=65_536).contains(given));
            given.map(|given| flows = given).ok_or_else(|| format!("flows: {} is out of range", entry.value))
        } else {
            set(&mut params, entry.key, entry.value)
        };
        set.map_err(|reason| Fault::at(entry.line, reason))?;
    }
    let (start, draws) = (Nanos(setup.header.start_ns), Recorded::new(setup.draws));
    let (buckets, slots) = (Setup::places(flows as usize), Setup::places(setup.arrivals + 1));
    let queue = FqPie::new(params, start, draws, buckets, slots)
        .map_err(|error| Fault::at(setup.header.queue_line, error.to_string()))?;
    Ok(Box::new(FqPieSubject { queue, flows, bucket: 0, runs_left: 0 }))
}

impl FqPieSubject {
    fn bucket_state(&self, key: &str) -> Option<Number> {
        let state: FlowState = self.queue.flow_state(self.bucket)?;
        Some(match key {
            "qlen" => state.qlen.into(),
            "backlog" => state.backlog.into(),
            "deficit" => state.deficit.into(),
            _ => return vars(&state.vars, key),
        })
    }

    /// A run of the reference's timer: the first of a round is our only one.
    fn timer(&mut self, now: Nanos) {
        if self.runs_left > 0 {
            self.runs_left -= 1;
            return;
        }
        self.queue.advance(now);
        let is_last = self.queue.next_update().is_none();
        self.runs_left = if is_last { 0 } else { self.flows.div_ceil(UPDATED_AT_ONCE) - 1 };
    }
}

impl Subject for FqPieSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit.into(),
            "flows" => self.flows.into(),
            "quantum" => params.quantum.into(),
            "memory_limit" => params.memory_limit.into(),
            "ecn_prob" => params.ecn_prob.into(),
            _ => return law_effective(&params.law, key),
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        let due = if self.runs_left > 0 { Some(now) } else { self.queue.next_update() };
        if call_timer(now, input, due, results) {
            self.timer(now);
            return Ok(());
        }
        let delivered = call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set)?;
            queue.configure(now, params, collect);
            Ok(())
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
            "packets_in" => counters.packets_in.into(),
            "dropped" => counters.dropped.into(),
            "overlimit" => counters.overlimit.into(),
            "overmemory" => counters.overmemory.into(),
            "ecn_mark" => counters.ecn_mark.into(),
            "memory_usage" => self.queue.memory_usage().into(),
            "new_flow_count" => counters.new_flow_count.into(),
            "new_flows_len" => self.queue.listed_flows().0.into(),
            "old_flows_len" => self.queue.listed_flows().1.into(),
            "flows_cursor" => self.queue.flows_cursor().into(),
            "bucket" => self.bucket.into(),
            _ => return common_state(key, self.queue.backlog(), self.queue.stats()),
        })
    }
}
