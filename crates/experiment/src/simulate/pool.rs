//! Runs the queues of a comparison on all processors. Each run is independent, and results keep the order of
//! the plan.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use goodqueue_report::trace::Trace;
use goodqueue_report::{Record, Repetition, Run};
use goodqueue_sim::difference;

use super::Job;
use super::turn::{self, Outcome, Watch};
use crate::Error;
use crate::{Latest, Monitor, Turn};

/// How long one wait for news lasts; after it the caller is asked whether to continue.
const WAIT: Duration = Duration::from_millis(50);

/// The work.
pub(crate) struct Pool<'a> {
    /// The jobs to simulate.
    pub jobs: &'a [Job],
    /// The number of consecutive jobs that are repetitions of one run, at least 1.
    pub repetitions: usize,
    /// Turns at a time, at least 1.
    pub threads: usize,
    /// Whether each job is simulated twice, and the results compared.
    pub twice: bool,
    /// Calls the work of a thread that was started.
    pub around: fn(&mut (dyn FnMut() + Send)),
}

/// A message of a worker.
enum News {
    /// The newest figures of a job's first (0) or second (1) time.
    Latest(usize, u32, Latest),
    Done(usize, Box<Result<Turned, Error>>),
}

/// A finished job.
struct Turned {
    run: Run,
    traces: Vec<Trace>,
    /// If it was done twice: a text that compares the two, and whether they are equal.
    check: Option<(String, bool)>,
}

impl Pool<'_> {
    /// Runs all jobs and puts their runs into `record` and their traces into `traces`, in order, calling
    /// `keep` after each run.
    ///
    /// # Errors
    /// The error of the first job that could not be done; [`Error::Interrupted`] after a signal, and
    /// [`Error::LimitFailed`] if two runs of a job differ. `record` contains everything that was simulated.
    pub(crate) fn run(
        &self,
        record: &mut Record,
        traces: &mut Vec<Trace>,
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        let turns: Vec<Turn> = self.jobs.iter().map(Job::turn).collect();
        monitor.plan(&turns, if self.twice { 2 } else { 1 });
        let mut results = Results::new(self.jobs, self.repetitions);
        let end = match self.threads {
            1 => self.on_this_thread(&mut results, record, monitor),
            _ => self.on_threads(&mut results, record, monitor),
        };
        monitor.close();
        results.say_checks(monitor);
        traces.extend(results.traces.drain(..).flatten());
        end.and_then(|()| results.verdict())
    }

    fn on_this_thread(
        &self,
        results: &mut Results,
        record: &mut Record,
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        let stop = AtomicBool::new(false);
        for (index, job) in self.jobs.iter().enumerate() {
            let (asked, signal) = (RefCell::new(&mut *monitor), Cell::new(None));
            let tell = |time: u32, latest: &Latest| {
                let mut monitor = asked.borrow_mut();
                monitor.update(index, time, latest);
                signal.set(signal.get().or_else(|| monitor.stop()));
                stop.store(signal.get().is_some(), Ordering::Relaxed);
            };
            results.take(index, self.turn(job, &stop, &tell)?, record);
            monitor.keep(record)?;
            if let Some(signal) = signal.get().or_else(|| monitor.stop()) {
                return Err(Error::Interrupted(signal));
            }
        }
        Ok(())
    }

    fn on_threads(
        &self,
        results: &mut Results,
        record: &mut Record,
        monitor: &mut dyn Monitor,
    ) -> Result<(), Error> {
        let (stop, next) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (sender, news) = channel();
        thread::scope(|scope| {
            for _ in 0..self.threads.min(self.jobs.len()) {
                let sender = sender.clone();
                let (stop, next) = (&stop, &next);
                scope.spawn(move || (self.around)(&mut || self.work(next, stop, &sender)));
            }
            drop(sender);
            let end = results.listen(&news, record, monitor, &stop);
            stop.store(true, Ordering::Relaxed);
            end
        })
    }

    fn work(&self, next: &AtomicUsize, stop: &AtomicBool, sender: &Sender<News>) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            if stop.load(Ordering::Relaxed) {
                return;
            }
            // A listener that is gone has its own reason to end.
            let tell = |time: u32, latest: &Latest| {
                let _ = sender.send(News::Latest(index, time, *latest));
            };
            let done = self.turn(job, stop, &tell);
            let _ = sender.send(News::Done(index, Box::new(done)));
        }
    }

    fn turn(&self, job: &Job, stop: &AtomicBool, tell: &dyn Fn(u32, &Latest)) -> Result<Turned, Error> {
        let first = turn::run(job, &Watch { progress: &|latest| tell(0, latest), stop })?;
        let check = if self.twice && first.run.complete {
            compare((job, &first), job, &Watch { progress: &|latest| tell(1, latest), stop })?
        } else {
            None
        };
        Ok(Turned { run: first.run, traces: first.traces, check })
    }
}

/// Simulates `again` and compares it with the result of `job`: returns a text, and whether they are equal;
/// `None` if it was stopped.
fn compare(
    (job, first): (&Job, &Outcome),
    again: &Job,
    watch: &Watch,
) -> Result<Option<(String, bool)>, Error> {
    let second = turn::run(again, watch)?;
    if !second.run.complete {
        return Ok(None);
    }
    let go_on = || !watch.stop.load(Ordering::Relaxed);
    let recorded = ((&job.scenario, &first.checkpoints), (&again.scenario, &second.checkpoints));
    let parted = difference(recorded.0, recorded.1, &go_on).map_err(Error::usage)?;
    Ok(Some(match parted {
        Some(difference) => (format!("{}: two runs differ: {difference}", job.queue), false),
        None if first.run != second.run => {
            (format!("{}: two runs agree in all events and differ in what was measured", job.queue), false)
        }
        None => (format!("{}: two runs agree in all {} events", job.queue, first.checkpoints.events()), true),
    }))
}

/// The results so far.
struct Results<'a> {
    jobs: &'a [Job],
    repetitions: usize,
    /// The runs that are in the record, in order, each by its index among all.
    done: Vec<usize>,
    /// The figures of each job, if a run has several jobs.
    figures: Vec<Option<Repetition>>,
    /// By job number.
    traces: Vec<Vec<Trace>>,
    checks: Vec<Option<(String, bool)>>,
}

impl Results<'_> {
    fn new(jobs: &[Job], repetitions: usize) -> Results<'_> {
        Results {
            jobs,
            repetitions: repetitions.max(1),
            done: Vec::new(),
            figures: vec![None; jobs.len()],
            traces: vec![Vec::new(); jobs.len()],
            checks: vec![None; jobs.len()],
        }
    }

    /// Collects the workers' messages until they have ended.
    fn listen(
        &mut self,
        news: &Receiver<News>,
        record: &mut Record,
        monitor: &mut dyn Monitor,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        let mut end = Ok(());
        loop {
            if let (Ok(()), Some(signal)) = (&end, monitor.stop()) {
                end = Err(Error::Interrupted(signal));
            }
            if end.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            match news.recv_timeout(WAIT) {
                Ok(News::Latest(index, time, latest)) => monitor.update(index, time, &latest),
                Ok(News::Done(index, done)) => {
                    let kept = done.and_then(|turned| {
                        self.take(index, turned, record);
                        monitor.keep(record)
                    });
                    end = end.and(kept);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return end,
            }
        }
    }

    /// Puts a run into its place, no matter which was done first. Of several repetitions the first keeps its
    /// series, the others their figures.
    fn take(&mut self, index: usize, turned: Turned, record: &mut Record) {
        let Turned { run, traces, check } = turned;
        self.checks[index] = check;
        self.traces[index] = traces;
        if self.repetitions > 1 && run.complete {
            let seed = self.jobs[index].scenario.seed;
            self.figures[index] = Some(Repetition::of(record, &run, seed));
        }
        let group = index / self.repetitions;
        let place = self.done.partition_point(|&other| other < group);
        if index.is_multiple_of(self.repetitions) {
            self.done.insert(place, group);
            record.runs.insert(place, run);
        }
        if self.done.get(place) == Some(&group) {
            let figures = &self.figures[group * self.repetitions..][..self.repetitions];
            record.runs[place].repetitions = figures.iter().flatten().cloned().collect();
        }
    }

    fn say_checks(&self, monitor: &mut dyn Monitor) {
        for (words, _) in self.checks.iter().flatten() {
            monitor.say(words);
        }
    }

    fn verdict(&self) -> Result<(), Error> {
        let differ = self.checks.iter().flatten().filter(|(_, is_equal)| !is_equal).count();
        if differ == 0 {
            return Ok(());
        }
        let of = self.checks.len();
        Err(Error::LimitFailed(format!("not deterministic: {differ} of {of} queues (see above)")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Request};

    fn jobs(words: &str) -> Vec<Job> {
        Experiment::of(&Request::of_words(words)).expect("an experiment").jobs()
    }

    fn runs(jobs: &[Job], threads: usize) -> String {
        let mut record = Record::default();
        let pool = Pool { jobs, repetitions: 1, threads, twice: false, around: |work| work() };
        pool.run(&mut record, &mut Vec::new(), &mut ()).expect("done");
        record.to_json().expect("JSON")
    }

    #[test]
    fn the_number_of_threads_changes_no_byte_and_no_order() {
        let queues = "pfifo:50,codel,fq_codel,bfifo:30000,fifo:20ms";
        let jobs = jobs(&format!("rrul --cc cubic --length 2s --idle 500ms --loss 0.5% --queue {queues}"));
        let one = runs(&jobs, 1);
        assert_eq!(one, runs(&jobs, 2));
        assert_eq!(one, runs(&jobs, 16));
        let places: Vec<usize> =
            jobs.iter().filter_map(|job| one.find(&format!("\"queue\":\"{}\"", job.queue))).collect();
        assert!(places.len() == 5 && places.is_sorted(), "{places:?}");
    }

    #[test]
    fn one_thread_is_that_of_the_caller_and_asks_whether_to_go_on() {
        struct Stops {
            caller: thread::ThreadId,
            updates: u32,
        }
        impl Monitor for Stops {
            fn update(&mut self, _: usize, _: u32, _: &Latest) {
                assert_eq!(thread::current().id(), self.caller);
                self.updates += 1;
            }
            fn stop(&mut self) -> Option<i32> {
                (self.updates == 3).then_some(2)
            }
        }
        let jobs = jobs("tcp_1up --length 60s --queue fq_codel,codel");
        let mut record = Record::default();
        let pool = Pool { jobs: &jobs, repetitions: 1, threads: 1, twice: false, around: |work| work() };
        let mut stops = Stops { caller: thread::current().id(), updates: 0 };
        let end = pool.run(&mut record, &mut Vec::new(), &mut stops);
        assert!(matches!(end, Err(Error::Interrupted(2))), "{end:?}");
        assert_eq!((stops.updates, record.runs.len()), (3, 1));
        assert!(!record.runs[0].complete, "what was simulated is kept");
    }

    /// A different seed gives different random loss, as if a run had not repeated itself.
    #[test]
    fn a_difference_is_found_and_named() {
        let words = "tcp_1up --length 2s --idle 500ms --loss 1% --queue fq_codel";
        let (job, other) = (&jobs(words)[0], &jobs(&format!("{words} --seed 2"))[0]);
        let stop = AtomicBool::new(false);
        let watch = Watch { progress: &|_| {}, stop: &stop };
        let first = turn::run(job, &watch).expect("a turn");
        let equal = compare((job, &first), job, &watch).expect("a turn").expect("not stopped");
        assert_eq!(
            equal,
            (format!("fq_codel: two runs agree in all {} events", first.checkpoints.events()), true)
        );
        let (words, is_equal) = compare((job, &first), other, &watch).expect("a turn").expect("not stopped");
        assert!(!is_equal);
        assert!(words.contains("two runs differ: the first run had event"), "{words}");
        assert!(words.contains(" s, ") && words.contains(" (") && words.contains(" to "), "{words}");
    }

    #[test]
    fn a_stopped_run_is_kept_and_not_compared() {
        let job = &jobs("tcp_1up --length 2s --queue fq_codel")[0];
        let stop = AtomicBool::new(true);
        let watch = Watch { progress: &|_| {}, stop: &stop };
        let outcome = turn::run(job, &watch).expect("a turn");
        assert!(!outcome.run.complete && outcome.run.validity.valid);
        assert_eq!(compare((job, &outcome), job, &watch).expect("a turn"), None);
    }
}
