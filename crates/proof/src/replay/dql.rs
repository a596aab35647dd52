//! Byte queue limits under replay.

use goodqueue::dql::Params;
use goodqueue::{Dql, Nanos};

use super::Fault;
use super::format::{Input, Number};
use super::subject::{Results, Setup, Subject, changed, narrow, no_such_call};

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
    let mut params = *dql.params();
    for entry in &setup.header.params {
        set(&mut params, entry.key, entry.value).map_err(|reason| Fault::at(entry.line, reason))?;
    }
    if !setup.header.params.is_empty() {
        dql.configure(params);
        dql.reset(start);
    }
    Ok(Box::new(dql))
}

impl Subject for Dql {
    fn effective(&self, key: &str) -> Option<Number> {
        Some(match key {
            "max_limit" => self.params().max_limit.into(),
            "min_limit" => self.params().min_limit.into(),
            "slack_hold_time" => self.params().slack_hold_time.into(),
            _ => return None,
        })
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
        Some(match key {
            "limit" => state.limit.into(),
            "num_queued" => state.num_queued.into(),
            "num_completed" => state.num_completed.into(),
            "adj_limit" => state.adj_limit.into(),
            "avail" => self.avail().into(),
            "last_obj_cnt" => state.last_obj_cnt.into(),
            "prev_ovlimit" => state.prev_ovlimit.into(),
            "prev_num_queued" => state.prev_num_queued.into(),
            "prev_last_obj_cnt" => state.prev_last_obj_cnt.into(),
            "lowest_slack" => state.lowest_slack.into(),
            "slack_start_time" => state.slack_start_time.into(),
            _ => return None,
        })
    }
}
