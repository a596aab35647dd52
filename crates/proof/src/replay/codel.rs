//! `codel` and `fq_codel` under replay.

use goodqueue::codel::{LawParams, Parity, State};
use goodqueue::fq_codel::FlowState;
use goodqueue::{HeapCodel, HeapFqCodel, Nanos, Queue, Span};
use goodqueue::{codel as codel_queue, fq_codel as fq_codel_queue};

use super::Fault;
use super::format::{Input, Number};
use super::subject::{Results, Setup, Subject, call, changed, common_state, hash_of, narrow};

/// Sets a parameter of the control law; `Ok(false)`: it has no such parameter.
fn set_law(law: &mut LawParams, key: &str, value: Number) -> Result<bool, String> {
    let micros = || narrow::<u32>(key, value).map(|us| Span::from_micros(us.into()));
    match key {
        "target" => law.target = micros()?,
        "interval" => law.interval = micros()?,
        "ecn" => law.ecn = value != 0,
        "ce_threshold" => law.ce_threshold = Some(micros()?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The law's effective parameters in ticks of 1024 ns.
fn law_effective(law: &LawParams, key: &str) -> Option<Number> {
    Some(match key {
        "ecn" => law.ecn.into(),
        "target_units" => law.ticks().target.into(),
        "interval_units" => law.ticks().interval.into(),
        "ce_threshold_units" => law.ticks().ce_threshold.into(),
        "mtu_backlog" => law.mtu.into(),
        _ => return None,
    })
}

fn law_state(state: &State, key: &str) -> Option<Number> {
    Some(match key {
        "count" => state.count.into(),
        "lastcount" => state.lastcount.into(),
        "dropping" => state.dropping.into(),
        "rec_inv_sqrt" => state.rec_inv_sqrt.into(),
        "first_above_time" => state.first_above_time.into(),
        "drop_next" => state.drop_next.into(),
        "ldelay" => state.ldelay.into(),
        _ => return None,
    })
}

fn law_counters(counters: &codel_queue::Counters, key: &str) -> Option<Number> {
    Some(match key {
        "ecn_mark" => counters.ecn_mark.into(),
        "ce_mark" => counters.ce_mark.into(),
        "maxpacket" => counters.maxpacket.into(),
        _ => return None,
    })
}

struct CodelSubject {
    queue: HeapCodel<goodqueue::Header>,
}

fn set_codel(params: &mut codel_queue::Params, key: &str, value: Number) -> Result<(), String> {
    if key == "limit" {
        params.limit = narrow(key, value)?;
    } else if !set_law(&mut params.law, key, value)? {
        return Err(format!("unknown parameter `{key}`"));
    }
    Ok(())
}

pub(super) fn codel(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let law = LawParams { mtu: setup.mtu(), parity: Parity::Linux, ..LawParams::new() };
    let mut params = codel_queue::Params { law, ..codel_queue::Params::default() };
    for entry in &setup.header.params {
        set_codel(&mut params, entry.key, entry.value).map_err(|reason| Fault::at(entry.line, reason))?;
    }
    let queue = HeapCodel::new(params, Setup::places(setup.arrivals + 1));
    Ok(Box::new(CodelSubject { queue }))
}

impl Subject for CodelSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        match key {
            "limit" => Some(self.queue.params().limit.into()),
            _ => law_effective(&self.queue.params().law, key),
        }
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set_codel)?;
            queue.configure(now, params, collect);
            Ok(())
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
    queue: HeapFqCodel<goodqueue::Header>,
    flows: u32,
    /// Bucket of the packet enqueued or delivered last.
    bucket: u32,
}

fn set_fq_codel(params: &mut fq_codel_queue::Params, key: &str, value: Number) -> Result<(), String> {
    match key {
        "limit" => params.limit = narrow(key, value)?,
        // Linux 6.1 sch_fq_codel.c:fq_codel_change raises a quantum given to 256 at least.
        "quantum" => params.quantum = narrow::<u32>(key, value)?.max(256),
        "memory_limit" => params.memory_limit = narrow::<u32>(key, value)?.min(1 << 31),
        "drop_batch_size" => params.drop_batch_size = narrow(key, value)?,
        "ce_threshold_selector" => params.law.ce_threshold_selector = narrow(key, value)?,
        "ce_threshold_mask" => params.law.ce_threshold_mask = narrow(key, value)?,
        "flows" => return Err("flows is fixed at creation".to_string()),
        _ if set_law(&mut params.law, key, value)? => {}
        _ => return Err(format!("unknown parameter `{key}`")),
    }
    Ok(())
}

pub(super) fn fq_codel(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let mut params = fq_codel_queue::Params { quantum: setup.mtu(), ..fq_codel_queue::Params::default() };
    params.law.mtu = setup.mtu();
    params.law.parity = Parity::Linux;
    let mut flows = 1024_u32;
    for entry in &setup.header.params {
        let set = if entry.key == "flows" {
            let given = narrow("flows", entry.value).ok().filter(|given| (1..=65_536).contains(given));
            given.map(|given| flows = given).ok_or_else(|| format!("flows: {} is out of range", entry.value))
        } else {
            set_fq_codel(&mut params, entry.key, entry.value)
        };
        set.map_err(|reason| Fault::at(entry.line, reason))?;
    }
    let queue = HeapFqCodel::new(params, Setup::places(flows as usize), Setup::places(setup.arrivals + 1));
    let queue = queue.map_err(|error| Fault::at(setup.header.queue_line, error.to_string()))?;
    Ok(Box::new(FqCodelSubject { queue, flows, bucket: 0 }))
}

impl FqCodelSubject {
    fn bucket_state(&self, key: &str) -> Option<Number> {
        let FlowState { qlen, backlog, deficit, codel } = self.queue.flow_state(self.bucket)?;
        Some(match key {
            "qlen" => qlen.into(),
            "backlog" => backlog.into(),
            "deficit" => deficit.into(),
            _ => return law_state(&codel, key),
        })
    }
}

impl Subject for FqCodelSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit.into(),
            "flows" => self.flows.into(),
            "quantum" => params.quantum.into(),
            "memory_limit" => params.memory_limit.into(),
            "drop_batch_size" => params.drop_batch_size.into(),
            "ce_threshold_selector" => params.law.ce_threshold_selector.into(),
            "ce_threshold_mask" => params.law.ce_threshold_mask.into(),
            _ => return law_effective(&params.law, key),
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        let delivered = call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set_fq_codel)?;
            queue.configure(now, params, collect);
            Ok(())
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
            "drop_overlimit" => counters.drop_overlimit.into(),
            "drop_overmemory" => counters.drop_overmemory.into(),
            "new_flow_count" => counters.new_flow_count.into(),
            "memory_usage" => self.queue.memory_usage().into(),
            "new_flows_len" => self.queue.listed_flows().0.into(),
            "old_flows_len" => self.queue.listed_flows().1.into(),
            "bucket" => self.bucket.into(),
            _ => {
                return common_state(key, self.queue.backlog(), self.queue.stats())
                    .or_else(|| law_counters(self.queue.codel_counters(), key));
            }
        })
    }
}
