//! Runs the remaining units on the threads of this machine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue_experiment::Error;

use crate::results::Results;
use crate::row::Row;
use crate::store::{Store, part_name};
use crate::study::Study;
use crate::units::Units;

/// Time between two parts: what a killed process loses at most.
const PART: Duration = Duration::from_secs(2);
/// Rows of a part at most.
const MOST_ROWS: usize = 1024;
/// How long one wait for news lasts.
const WAIT: Duration = Duration::from_millis(50);

/// The caller's side of a sweep. `()` ignores all of it and never stops it.
pub trait Watch {
    /// So many units are to be run, whose costs are so much together. Called once for each round.
    fn plan(&mut self, units: u64, cost: f64) {
        let _ = (units, cost);
    }

    /// A unit was run; `failed` of its runs failed.
    fn done(&mut self, cost: f64, failed: usize) {
        let _ = (cost, failed);
    }

    /// A line for the user.
    fn say(&mut self, line: &str) {
        let _ = line;
    }

    /// Called twenty times a second. The number of a signal ends the sweep.
    fn stop(&mut self) -> Option<i32> {
        None
    }
}

impl Watch for () {}

/// Rows that are not in a part yet.
struct Unwritten<'a> {
    study: &'a Study,
    store: Option<&'a Store>,
    rows: Vec<Row>,
    since: Instant,
    /// Whether the last part could not be written, which was said.
    is_failing: bool,
}

impl Unwritten<'_> {
    fn write(&mut self, watch: &mut dyn Watch) -> Result<(), Error> {
        self.since = Instant::now();
        let (Some(store), false) = (self.store, self.rows.is_empty()) else {
            self.rows.clear();
            return Ok(());
        };
        // Threads end their units in any order; the same rows are to be the same part.
        self.rows.sort_by_key(|row| (row.is_fresh, row.point, row.seed));
        match store.write(self.study, &self.rows) {
            Ok(()) => {
                self.rows.clear();
                if std::mem::take(&mut self.is_failing) {
                    watch.say("the results can be written again");
                }
                Ok(())
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    watch.say(&format!(
                        "warning: {error}; what was measured is kept in memory, and written later"
                    ));
                }
                Err(error)
            }
        }
    }

    /// The end: what still cannot be written goes to the folder for temporary files.
    fn end(mut self, watch: &mut dyn Watch) -> Result<(), Error> {
        let Err(error) = self.write(watch) else { return Ok(()) };
        let place =
            std::env::temp_dir().join(format!("goodqueue-{}-{}", std::process::id(), part_name(&self.rows)));
        let kept =
            self.study.encode(&self.rows).map_err(|error| error.to_string()).and_then(|bytes| {
                goodqueue_report::write_new(&place, &bytes).map_err(|error| error.to_string())
            });
        Err(Error::Machine(match kept {
            Ok(()) => format!(
                "{error}; {} runs are kept in {}: make room, move this file into the folder `parts`, and run the sweep again",
                self.rows.len(),
                place.display()
            ),
            Err(second) => format!("{error}; nor could they be kept elsewhere: {second}"),
        }))
    }
}

/// Runs all that is to be done, on this many threads (0: one for each processor), into `results` and, part by
/// part, into `store`.
///
/// # Errors
/// [`Error::Interrupted`] by a signal, [`Error::Machine`] if results could not be written. However it ends,
/// what was run is kept.
pub fn run(
    study: &Study,
    units: &Units,
    results: &mut Results,
    store: Option<&Store>,
    threads: usize,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let mut unwritten =
        Unwritten { study, store, rows: Vec::new(), since: Instant::now(), is_failing: false };
    let mut end = Ok(());
    while end.is_ok() {
        // The longest first, so that no processor is idle at the end.
        let todo = match study.todo(units, results).and_then(|todo| todo.longest_first()) {
            Ok(todo) if todo.is_empty() => break,
            Ok(todo) => todo,
            Err(error) => {
                end = Err(error);
                break;
            }
        };
        watch.plan(todo.len(), todo.cost());
        end = round(study, &todo, results, &mut unwritten, crate::threads(threads), watch);
    }
    let written = unwritten.end(watch);
    written.and(end)
}

fn round(
    study: &Study,
    todo: &Units,
    results: &mut Results,
    unwritten: &mut Unwritten<'_>,
    threads: usize,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    // Threads wait if nobody takes what they have found.
    let (sender, news) = sync_channel(MOST_ROWS);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, usize::try_from(todo.len()).unwrap_or(usize::MAX).max(1)) {
            let sender = sender.clone();
            let (next, stop) = (&next, &stop);
            scope.spawn(move || work(study, todo, next, stop, &sender));
        }
        drop(sender);
        let mut end = Ok(());
        loop {
            if let (Ok(()), Some(signal)) = (&end, watch.stop()) {
                end = Err(Error::Interrupted(signal));
                stop.store(true, Ordering::Relaxed);
            }
            match news.recv_timeout(WAIT) {
                Ok(found) => {
                    let (cost, rows) = match found {
                        Ok(found) => found,
                        Err(error) => {
                            end = end.and(Err(error));
                            stop.store(true, Ordering::Relaxed);
                            continue;
                        }
                    };
                    let failed = rows.iter().filter(|row: &&Row| row.why.is_some()).count();
                    watch.done(cost, failed);
                    if let Err(error) = results.add(&rows) {
                        end = end.and(Err(error));
                        stop.store(true, Ordering::Relaxed);
                    }
                    unwritten.rows.extend(rows);
                    if unwritten.since.elapsed() > PART || unwritten.rows.len() >= MOST_ROWS {
                        // What could not be written is tried again with the next part.
                        let _ = unwritten.write(watch);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return end,
            }
        }
    })
}

/// The cost of a unit, and its rows.
type Found = Result<(f64, Vec<Row>), Error>;

fn work(study: &Study, todo: &Units, next: &AtomicU64, stop: &AtomicBool, sender: &SyncSender<Found>) {
    while !stop.load(Ordering::Relaxed) {
        let found = match todo.some(next.fetch_add(1, Ordering::Relaxed), 1) {
            Err(error) => Err(error),
            Ok(units) => {
                let Some(unit) = units.first() else { return };
                let Some(rows) = study.run(unit, stop) else { return };
                Ok((unit.cost, rows))
            }
        };
        if sender.send(found).is_err() {
            return;
        }
    }
}
