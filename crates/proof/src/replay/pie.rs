//! `pie` under replay, and what `fq_pie` shares with it.

use goodqueue::pie::{Params, Vars};
use goodqueue::{Configurable, Header, Heap, Inspect, Link, Nanos, Pie, Queue};

use super::Fault;
use super::format::Input;
use super::subject::{Recorded, Results, Setup, Subject, call, call_timer, changed, common_state, set};
use super::text::{Number, field};

/// The effective parameters of the control law.
pub(super) fn law_effective(params: &Params, key: &str) -> Option<Number> {
    Some(match key {
        "target_ticks" => params.target_ticks().into(),
        "tupdate_jiffies" => params.tupdate_jiffies().into(),
        _ => return field!(key, params, alpha, beta, ecn, bytemode, dq_rate_estimator),
    })
}

pub(super) fn vars(vars: &Vars, key: &str) -> Option<Number> {
    let or_minus_1 = |value: Option<u64>| value.map_or(-1, Number::from);
    Some(match key {
        "dq_tstamp" => or_minus_1(vars.dq_tstamp()),
        "dq_count" => or_minus_1(vars.dq_count),
        _ => return field!(key, vars, prob, accu_prob, qdelay, qdelay_old, burst_time, avg_dq_rate),
    })
}

struct PieSubject {
    queue: Pie<Header, Heap, Recorded>,
    link: Link,
}

pub(super) fn pie(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = setup.params(Params { hz: setup.header.hz, ..Params::default() }, set)?;
    let (start, places) = (Nanos(setup.header.start_ns), Setup::places(setup.arrivals + 1));
    let link = setup.link();
    let parts = (Recorded::new(setup.draws), places);
    let queue = Pie::new(start, params, link, parts).map_err(|error| setup.fault(error))?;
    Ok(Box::new(PieSubject { queue, link }))
}

impl Subject for PieSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        match key {
            "limit" => Some(self.queue.params().limit.into()),
            _ => law_effective(self.queue.params(), key),
        }
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, results: &mut Results) -> Result<(), String> {
        if call_timer(now, input, self.queue.next_update(), results) {
            self.queue.advance(now);
            return Ok(());
        }
        let link = self.link;
        call(&mut self.queue, now, input, results, |queue, entries, collect| {
            let params = changed(*queue.params(), entries, set)?;
            queue.configure(now, params, link, collect).map_err(|error| error.to_string())
        })?;
        Ok(())
    }

    fn draws(&mut self) -> Option<&mut Recorded> {
        Some(self.queue.draws_mut())
    }

    fn state(&self, key: &str) -> Option<Number> {
        let counters = self.queue.pie_counters();
        field!(key, counters, packets_in, dropped, overlimit, ecn_mark, maxq)
            .or_else(|| common_state(key, self.queue.backlog(), self.queue.stats()))
            .or_else(|| vars(self.queue.vars(), key))
    }
}
