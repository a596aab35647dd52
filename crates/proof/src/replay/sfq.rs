//! `sfq` under replay.

use goodqueue::red::{Law, LawParams};
use goodqueue::sfq::{MAX_DEPTH, Params};
use goodqueue::{Configurable, Header, Heap, Inspect, Link, Nanos, Packet, Queue, Sfq, Span};

use super::Fault;
use super::format::Input;
use super::subject::{Collect, Recorded, Results, Setup, Subject, call, call_timer, common_state, narrow};
use super::text::{Number, field};

struct SfqSubject {
    queue: Sfq<Header, Heap, Recorded>,
    link: Link,
    divisor: u32,
    flows: u32,
    /// Flow hash of the packet enqueued or delivered last.
    hash: u32,
}

/// The parameters in a vector, before Linux 6.1 `sch_sfq.c:sfq_change` adapts them to each other.
struct Given {
    params: Params,
    limit: Option<u32>,
    divisor: Option<u32>,
    flows: Option<u32>,
    red: LawParams,
}

fn set(given: &mut Given, key: &str, value: Number) -> Result<(), String> {
    let (params, red) = (&mut given.params, &mut given.red);
    match key {
        "limit" => given.limit = Some(narrow(key, value)?),
        "flows" => given.flows = Some(narrow(key, value)?),
        "divisor" => given.divisor = Some(narrow(key, value)?),
        "depth" => params.depth = narrow::<u32>(key, value)?.min(MAX_DEPTH),
        "quantum" => params.quantum = Some(narrow::<u32>(key, value)?.max(256)),
        "perturb" => {
            let seconds: u32 = narrow(key, value)?;
            params.perturb = (seconds > 0).then(|| Span::from_secs(seconds.into()));
        }
        "headdrop" => params.headdrop = value != 0,
        "qth_min" => red.qth_min = narrow(key, value)?,
        "qth_max" => red.qth_max = narrow(key, value)?,
        "Wlog" => red.wlog = narrow(key, value)?,
        "Plog" => red.plog = narrow(key, value)?,
        "max_P" => red.max_p = narrow(key, value)?,
        // It is for idle times, which a slot does not have.
        "Scell_log" => {}
        "flags" => (red.ecn, red.harddrop) = (value & 1 != 0, value & 2 != 0),
        _ => return Err(format!("unknown parameter `{key}`")),
    }
    Ok(())
}

/// Linux's default for slots (`SFQ_DEFAULT_FLOWS`) and buckets (`SFQ_DEFAULT_HASH_DIVISOR`).
const FLOWS: u32 = 128;
const DIVISOR: u32 = 1024;

pub(super) fn sfq(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = Params { quantum: Some(setup.mtu()), hz: setup.header.hz, ..Params::default() };
    let red = LawParams { qth_min: 0, qth_max: 0, wlog: 0, plog: 0, max_p: 0, ecn: false, harddrop: false };
    let given = setup.params(Given { params, limit: None, divisor: None, flows: None, red }, set)?;
    let Given { mut params, red, .. } = given;
    let divisor = given.divisor.unwrap_or(DIVISOR);
    if !divisor.is_power_of_two() || divisor > 65_536 {
        let reason = format!("divisor: {divisor} is no power of two up to 65536");
        return Err(setup.fault(reason));
    }
    let mut flows = given.flows.unwrap_or(FLOWS).min(65_408);
    if given.divisor.is_some() {
        flows = flows.min(divisor);
    }
    if let Some(limit) = given.limit {
        params = Params { limit, flows, ..params };
        flows = flows.min(params.limit());
    }
    let (start, draws) = (Nanos(setup.header.start_ns), Recorded::new(setup.draws));
    let (buckets, slots) = (Setup::places(divisor as usize), Setup::places(flows as usize));
    let parts = (draws, buckets, slots, Setup::places(setup.arrivals + 2));
    let mut queue = Sfq::new(start, params, setup.link(), parts).map_err(|error| setup.fault(error))?;
    if red.qth_min > 0 {
        queue.set_red(red);
    }
    Ok(Box::new(SfqSubject { queue, link: setup.link(), divisor, flows, hash: 0 }))
}

fn red_flags(red: &LawParams) -> Number {
    Number::from(red.ecn) + 2 * Number::from(red.harddrop)
}

impl SfqSubject {
    fn red_effective(&self, key: &str) -> Option<Number> {
        let red: &Law = self.queue.red()?;
        Some(match key {
            "qth_min_scaled" => red.qth_min.into(),
            "qth_max_scaled" => red.qth_max.into(),
            "Wlog" => red.params.wlog.into(),
            "max_P" => red.max_p.into(),
            "max_P_reciprocal_m" => red.max_p_reciprocal.m.into(),
            "max_P_reciprocal_sh1" => red.max_p_reciprocal.sh1.into(),
            "max_P_reciprocal_sh2" => red.max_p_reciprocal.sh2.into(),
            _ => return None,
        })
    }
}

impl Subject for SfqSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let params = self.queue.params();
        Some(match key {
            "limit" => params.limit().into(),
            "divisor" => self.divisor.into(),
            "flows" => self.flows.into(),
            "depth" => params.depth().into(),
            "quantum" => params.quantum(self.link).into(),
            "headdrop" => params.headdrop.into(),
            "perturb_jiffies" => {
                let seconds = params.perturb.map_or(0, |span| span.0 / 1_000_000_000);
                Number::from(seconds) * Number::from(params.hz)
            }
            "flags" => self.queue.red().map_or(0, |law| red_flags(&law.params)),
            "perturbation0" => self.queue.perturbation().into(),
            _ => return self.red_effective(key),
        })
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        if call_timer(now, input, self.queue.next_perturbation(), results) {
            self.queue.advance(now, &mut Collect(results));
            return Ok(());
        }
        let delivered = call(&mut self.queue, now, input, results, |_, _, _| {
            Err("sfq is not changed in these files".to_string())
        })?;
        self.hash = match input {
            Input::Enqueue(arrival) => arrival.hash,
            _ => delivered.map_or(self.hash, |packet| packet.flow_hash()),
        };
        Ok(())
    }

    fn draws(&mut self) -> Option<&mut Recorded> {
        Some(self.queue.draws_mut())
    }

    fn state(&self, key: &str) -> Option<Number> {
        let bucket = self.queue.bucket(self.hash);
        if let Some(key) = key.strip_prefix("b_") {
            let state = self.queue.slot_state(bucket).unwrap_or_default();
            return field!(key, state, qlen, backlog, allot, qavg);
        }
        let counters = self.queue.sfq_counters();
        Some(match key {
            "cur_depth" => self.queue.cur_depth().into(),
            "bucket" => self.queue.slot_state(bucket).map_or(-1, |_| bucket.into()),
            _ => {
                let red = field!(
                    key,
                    counters,
                    prob_drop,
                    forced_drop,
                    prob_mark,
                    forced_mark,
                    prob_mark_head,
                    forced_mark_head
                );
                return red.or_else(|| common_state(key, self.queue.backlog(), self.queue.stats()));
            }
        })
    }
}
