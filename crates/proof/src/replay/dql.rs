//! Byte queue limits under replay.

use goodqueue::dql::Params;
use goodqueue::{Dql, Nanos};

use super::Fault;
use super::format::Input;
use super::subject::{Results, Setup, Subject, changed, narrow, no_such_call};
use super::text::{Number, field};

fn set(params: &mut Params, key: &str, value: Number) -> Result<(), String> {
    match key {
        "max_limit" => params.max_limit = narrow(key, value)?,
        "min_limit" => params.min_limit = narrow(key, value)?,
        "slack_hold_time" => params.slack_hold_time = narrow(key, value)?,
        _ => return Err(format!("unknown parameter `{key}`")),
    }
    Ok(())
}

/// Parameters of the header are set after creation and followed by one reset.
pub(super) fn dql(setup: &Setup<'_>) -> Result<Box<dyn Subject>, Fault> {
    let start = Nanos(setup.header.start_ns);
    let mut dql = Dql::new(setup.header.hz, start);
    let params = setup.params(*dql.params(), set)?;
    if !setup.header.params.is_empty() {
        dql.configure(params);
        dql.reset(start);
    }
    Ok(Box::new(dql))
}

impl Subject for Dql {
    fn effective(&self, key: &str) -> Option<Number> {
        field!(key, self.params(), max_limit, min_limit, slack_hold_time)
    }

    fn call(&mut self, now: Nanos, input: &Input<'_>, _results: &mut Results) -> Result<(), String> {
        match input {
            Input::Queued(count) => self.queued(*count),
            Input::Completed(count) => {
                let in_flight = Dql::state(self).num_queued.wrapping_sub(Dql::state(self).num_completed);
                if *count > in_flight {
                    return Err(format!("{count} completed of {in_flight} in flight"));
                }
                self.completed(now, *count);
            }
            Input::Reset => self.reset(now),
            Input::Change(entries) => {
                let params = changed(*self.params(), entries, set)?;
                self.configure(params);
            }
            Input::Enqueue(_) | Input::Dequeue | Input::Timer => return Err(no_such_call()),
        }
        Ok(())
    }

    fn state(&self, key: &str) -> Option<Number> {
        let state = Dql::state(self);
        if key == "avail" {
            return Some(self.avail().into());
        }
        field!(
            key,
            state,
            limit,
            num_queued,
            num_completed,
            adj_limit,
            last_obj_cnt,
            prev_ovlimit,
            prev_num_queued,
            prev_last_obj_cnt,
            lowest_slack,
            slack_start_time
        )
    }
}
