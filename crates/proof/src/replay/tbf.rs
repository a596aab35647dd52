//! `tbf` under replay.

use goodqueue::tbf::{LinkLayer, Params, RateTable};
use goodqueue::{Configurable, Inspect, Link, Nanos, Queue, Rate, Tbf};

use super::Fault;
use super::format::Input;
use super::subject::{Results, Setup, Subject, call, changed, common_state, narrow};
use super::text::Number;

struct TbfSubject {
    queue: Tbf<goodqueue::Header>,
    link: Link,
}

/// A rate in bytes per second.
fn rate(key: &str, value: Number) -> Result<Rate, String> {
    narrow(key, value * 8).map(Rate)
}

fn set(params: &mut Params, key: &str, value: Number) -> Result<(), String> {
    match key {
        "rate" => params.rate = rate(key, value)?,
        "peakrate" => params.peakrate = if value == 0 { None } else { Some(rate(key, value)?) },
        "burst" => params.burst = narrow(key, value)?,
        "pburst" => params.minburst = Some(narrow(key, value)?),
        "limit" => params.limit = narrow(key, value)?,
        "mpu" => params.mpu = narrow(key, value)?,
        "overhead" => params.overhead = narrow(key, value)?,
        "linklayer" => {
            params.linklayer = match value {
                1 => LinkLayer::Ethernet,
                2 => LinkLayer::Atm,
                _ => return Err(format!("linklayer: {value} is neither 1 (Ethernet) nor 2 (ATM)")),
            };
        }
        _ => return Err(format!("unknown parameter `{key}`")),
    }
    Ok(())
}

pub(super) fn tbf(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let params = setup.params(Params { minburst: Some(0), ..Params::new(Rate(0), 0, 0) }, set)?;
    let places = Setup::places(setup.arrivals + 1);
    let queue = <Tbf<goodqueue::Header>>::new(Nanos(setup.header.start_ns), params, setup.link(), places);
    let queue = queue.map_err(|error| setup.fault(error))?;
    Ok(Box::new(TbfSubject { queue, link: setup.link() }))
}

impl Subject for TbfSubject {
    fn effective(&self, key: &str) -> Option<Number> {
        let (params, effective) = (self.queue.params(), self.queue.effective());
        let peak = |value: fn(&RateTable) -> Number| effective.peak.as_ref().map_or(0, value);
        Some(match key {
            "limit" => params.limit.into(),
            "max_size" => effective.max_size.into(),
            "buffer_ns" => effective.buffer.0.into(),
            "mtu_ns" => effective.mtu.0.into(),
            "rate" => (params.rate.0 / 8).into(),
            "rate_mult" => effective.rate.mult.into(),
            "rate_shift" => effective.rate.shift.into(),
            "peakrate" => params.peakrate.map_or(0, |rate| rate.0 / 8).into(),
            "peak_mult" => peak(|table| table.mult.into()),
            "peak_shift" => peak(|table| table.shift.into()),
            "overhead" => params.overhead.into(),
            "mpu" => params.mpu.into(),
            "linklayer" => match params.linklayer {
                LinkLayer::Ethernet => 1,
                LinkLayer::Atm => 2,
            },
            _ => return None,
        })
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
        let state = self.queue.state();
        Some(match key {
            "tokens" => state.tokens.into(),
            "ptokens" => state.ptokens.into(),
            "t_c" => state.t_c.0.into(),
            "inner_qlen" => self.queue.backlog().packets.into(),
            "inner_backlog" => self.queue.backlog().bytes.into(),
            _ => return common_state(key, self.queue.backlog(), self.queue.stats()),
        })
    }
}
