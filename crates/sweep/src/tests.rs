//! Sweeps from their file to their findings, with the real simulator and with others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use goodqueue_experiment::simulate::{self, Job};
use goodqueue_experiment::{Error, Sweep};
use goodqueue_report::Run;

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("goodqueue-sweep-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const GRID: &str = "
queues = ['pfifo:100', 'fq_codel']
seeds = [1, 2]
[test]
name = 'tcp_1up'
length = '3s'
idle = '500ms'
[sweep]
verify = 2
[[sweep.axis]]
key = 'link.rate'
from = '2mbit'
to = '8mbit'
steps = 2
[[sweep.axis]]
key = 'link.rtt'
values = ['10ms', '40ms']
";

fn study(text: &str) -> Study {
    Study::new(Sweep::parse(text, "grid.toml", Path::new("")).expect("a sweep")).expect("a study")
}

fn units(study: &Study) -> Units {
    study.units(0, &AtomicBool::new(false)).expect("units")
}

/// Counts what is simulated, and ends after so many units if that is not 0.
#[derive(Default)]
struct Counter {
    done: usize,
    failed: usize,
    most: usize,
    said: Vec<String>,
}

impl Watch for Counter {
    fn done(&mut self, _: f64, failed: usize) {
        self.done += 1;
        self.failed += failed;
    }

    fn say(&mut self, line: &str) {
        self.said.push(line.to_owned());
    }

    fn stop(&mut self) -> Option<i32> {
        (self.most > 0 && self.done >= self.most).then_some(2)
    }
}

/// Opens the folder, takes what is there, and runs the rest.
fn sweep(study: &Study, folder: &Path, most: usize) -> (Counter, Result<(), Error>, Results) {
    let units = units(study);
    let store = Store::open(folder).expect("a folder");
    let mut results = Results::default();
    store.read(&mut results).expect("parts");
    let mut counter = Counter { most, ..Counter::default() };
    let end = run(study, &units, &mut results, Some(&store), 1, &mut counter);
    (counter, end, results)
}

#[test]
fn a_second_run_does_nothing_and_a_stopped_one_goes_on() {
    let (whole, parted) = (Scratch::new("whole"), Scratch::new("parted"));
    let study = study(GRID);
    let (counter, end, results) = sweep(&study, &whole.0, 0);
    assert!(end.is_ok() && counter.failed == 0, "{end:?}");
    // Four points with two seeds, and two fresh seeds.
    assert_eq!(counter.done, 10);
    let (again, end, _) = sweep(&study, &whole.0, 0);
    assert!(end.is_ok() && again.done == 0);

    let (stopped, end, _) = sweep(&study, &parted.0, 3);
    assert!(matches!(end, Err(Error::Interrupted(2))), "{end:?}");
    assert!((3..10).contains(&stopped.done), "{}", stopped.done);
    let (rest, end, later) = sweep(&study, &parted.0, 0);
    assert!(end.is_ok());
    assert_eq!(stopped.done + rest.done, 10);
    let shown = |results: &Results| {
        let found = findings(&study, &units(&study), results).expect("findings");
        (goodqueue_report::sweep::text(&found), goodqueue_report::sweep_html(&found))
    };
    assert_eq!(shown(&results), shown(&later), "a sweep in two halves shows the same");
}

#[test]
fn a_wider_grid_takes_over_what_is_there() {
    let scratch = Scratch::new("wider");
    let narrow = study(GRID);
    assert_eq!(sweep(&narrow, &scratch.0, 0).0.done, 10);
    let wide = study(&GRID.replace("['10ms', '40ms']", "['5ms', '10ms', '40ms']"));
    // Two new points with two seeds each, and fresh seeds if another point is the best now.
    let (counter, end, _) = sweep(&wide, &scratch.0, 0);
    assert!(end.is_ok() && matches!(counter.done, 4 | 6), "{}", counter.done);
    // What changes the simulation changes the hash: nothing is taken over.
    let other = study(&GRID.replace("length = '3s'", "length = '3100ms'"));
    assert_eq!(sweep(&other, &scratch.0, 0).0.done, 10);
}

/// Panics at 8 Mbit/s with seed 2.
fn panics(job: &Job, stop: &AtomicBool) -> Result<Run, Error> {
    let rate = job.scenario.links[job.up].port.as_ref().map(|port| port.rate.0);
    assert!(rate != Some(8_000_000) || job.scenario.seed != 2, "out of luck");
    simulate::run_one(job, stop)
}

#[test]
fn a_point_that_panics_is_named_and_the_others_are_finished() {
    let scratch = Scratch::new("panic");
    let study = study(GRID).with(panics);
    let (counter, end, results) = sweep(&study, &scratch.0, 0);
    assert!(end.is_ok());
    assert_eq!((counter.done, counter.failed), (10, 4));
    let found = findings(&study, &units(&study), &results).expect("findings");
    assert_eq!(found.failed.len(), 4);
    let failed = &found.failed[0];
    assert_eq!((failed.seed, failed.words.as_str()), (2, "link.rate = 8mbit, link.rtt = 10ms"));
    assert_eq!(failed.why, "the simulation panicked: out of luck");
    // It is not tried again, and no failed point is the best.
    let (again, ..) = sweep(&study, &scratch.0, 0);
    assert_eq!(again.done, 0);
    assert!(found.best.as_ref().is_some_and(|best| best.words.starts_with("link.rate = 2mbit")));
    assert!(goodqueue_report::sweep::text(&found).contains("4 runs failed:"));
    // A limit is not known to be kept where a run failed.
    let limits = ["rise_p95 > 10s".parse().expect("a limit")];
    let of = (&units(&study), &results);
    let (count, crossed) = crossed(&study, of, &limits, 3).expect("limits");
    assert!(count == 4 && crossed.len() == 3 && crossed.iter().all(|one| !one.is_known), "{crossed:?}");
}

#[test]
fn a_folder_that_takes_nothing_loses_nothing() {
    let scratch = Scratch::new("full");
    let study = study(GRID);
    let units = units(&study);
    let store = Store::open(&scratch.0).expect("a folder");
    // A file in the place of the folder of the parts: nothing can be written.
    std::fs::remove_dir(scratch.0.join(PARTS)).expect("removed");
    std::fs::write(scratch.0.join(PARTS), "").expect("written");
    let mut results = Results::default();
    let mut counter = Counter::default();
    let end = run(&study, &units, &mut results, Some(&store), 1, &mut counter);
    let Err(Error::Machine(why)) = end else { panic!("{end:?}") };
    assert_eq!(counter.done, 10, "the sweep finishes the others");
    let place = why.split(" are kept in ").nth(1).and_then(|rest| rest.split(": make room").next());
    let kept = Path::new(place.expect("a file"));
    let rows = decode(std::fs::read(kept).expect("the file")).expect("rows");
    assert_eq!(rows.len(), 4 * 2 * 2 + 2);
    // Where it was moved to the parts, nothing is left to be done.
    std::fs::remove_file(scratch.0.join(PARTS)).expect("removed");
    std::fs::create_dir(scratch.0.join(PARTS)).expect("a folder");
    std::fs::rename(kept, scratch.0.join(PARTS).join("moved.parquet"))
        .or_else(|_| std::fs::copy(kept, scratch.0.join(PARTS).join("moved.parquet")).map(|_| ()))
        .expect("moved");
    assert_eq!(sweep(&study, &scratch.0, 0).0.done, 0);
}

#[test]
fn a_damaged_part_is_told_and_run_again() {
    let scratch = Scratch::new("damaged");
    let study = study(GRID);
    assert_eq!(sweep(&study, &scratch.0, 0).0.done, 10);
    for part in std::fs::read_dir(scratch.0.join(PARTS)).expect("parts").flatten() {
        let bytes = std::fs::read(part.path()).expect("a part");
        std::fs::write(part.path(), &bytes[..bytes.len() / 2]).expect("written");
    }
    let mut results = Results::default();
    let damaged = Store::open(&scratch.0).expect("a folder").read(&mut results).expect("parts");
    let units = units(&study);
    let known = units.iter().filter(|unit| {
        let unit = unit.as_ref().expect("a unit");
        results.has(unit.hash).expect("an answer")
    });
    assert!(known.count() == 0 && !damaged.is_empty() && damaged[0].contains(".parquet: "), "{damaged:?}");
    assert_eq!(sweep(&study, &scratch.0, 0).0.done, 10);
}

#[test]
fn rows_are_the_same_after_parquet() {
    let study = study(GRID);
    let stop = AtomicBool::new(false);
    let rows: Vec<Row> = units(&study)
        .some(0, 3)
        .expect("units")
        .iter()
        .filter_map(|unit| study.run(unit, &stop))
        .flatten()
        .collect();
    let bytes = study.encode(&rows).expect("bytes");
    assert_eq!(bytes, study.encode(&rows).expect("bytes"));
    let again = decode(bytes).expect("rows");
    // NaN stands for what was not measured, and equals nothing.
    assert_eq!(format!("{rows:?}"), format!("{again:?}"));
    assert_eq!(part_name(&rows), part_name(&again));
}

/// A part that a full disk, a broken copy or somebody else has changed is refused, or has other rows.
#[test]
fn no_bytes_of_a_part_panic() {
    let (study, stop) = (study(GRID), AtomicBool::new(false));
    let unit = &units(&study).some(0, 1).expect("a unit")[0];
    let bytes = study.encode(&study.run(unit, &stop).expect("rows")).expect("bytes");
    for length in 0..bytes.len() {
        assert!(decode(bytes[..length].to_vec()).is_err(), "the first {length} bytes");
    }
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff, bytes[at]] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let _ = decode(changed).map_err(|why| assert!(!why.is_empty()));
        }
    }
    let mut dice = goodqueue::Rng::new(1);
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        for _ in 0..=dice.below(8) {
            let at = usize::try_from(dice.below(changed.len() as u64)).expect("small");
            changed[at] = dice.below(256).try_into().expect("a byte");
        }
        let _ = decode(changed).map_err(|why| assert!(!why.is_empty()));
    }
}

#[test]
fn halving_gives_more_seeds_to_ever_fewer_points() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    fn counted(job: &Job, stop: &AtomicBool) -> Result<Run, Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        simulate::run_one(job, stop)
    }
    let text = "
        queues = ['fq_codel']
        [test]
        name = 'tcp_1up'
        length = '2s'
        idle = '500ms'
        [sweep]
        design = 'halving'
        points = 9
        verify = 2
        minimise = 'rise_mean'
        [[sweep.axis]]
        key = 'link.rate'
        from = '1mbit'
        to = '20mbit'
        scale = 'log'
    ";
    let study = study(text).with(counted);
    let units = units(&study);
    let mut results = Results::default();
    run(&study, &units, &mut results, None, 2, &mut ()).expect("done");
    // Nine points with one seed; three with two more; one with six more; two fresh seeds.
    assert_eq!(RUNS.load(Ordering::Relaxed), 9 + 3 * 2 + 6 + 2);
    let best = findings(&study, &units, &results).expect("findings").best.expect("a best point");
    assert_eq!((best.seeds, best.fresh.len()), (9, 2));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let wrong = |from: &str, to: &str| {
        let text = GRID.replace(from, to);
        let sweep = Sweep::parse(&text, "grid.toml", Path::new(""));
        let study = sweep.map_err(|error| error.to_string()).and_then(|sweep| {
            let study = Study::new(sweep).map_err(|error| error.to_string())?;
            study.units(2, &AtomicBool::new(false)).map_err(|error| error.to_string())
        });
        study.expect_err(to)
    };
    for (from, to, part) in [
        ("link.rtt", "link.rt", "grid.toml:16:7: key = \"link.rt\": [link] has no key `rt`"),
        ("'40ms'", "'40'", "grid.toml:16:7: link.rtt = \"40\": rtt = \"40\": a number without a unit"),
        ("'8mbit'", "'1mbit'", "grid.toml:13:6: to is not above from"),
        ("'8mbit'", "'8ms'", "from is a rate, and to is a time"),
        ("steps = 2", "", "a range of a grid needs `steps`"),
        ("verify = 2", "design = 'latin'", "[sweep] needs `points`"),
        ("verify = 2", "minimise = 'rise'", "no such figure"),
        ("verify = 2", "limits = ['rise_p95 > 2x']", "in a file a bound is a value"),
        ("'link.rtt'", "'seeds'", "every point runs with all seeds"),
        ("['10ms', '40ms']", "[]", "values is empty"),
        ("['10ms', '40ms']", "['10ms', '10ms']", "given twice"),
        ("[sweep]", "[swep]", "did you mean"),
        ("length = '3s'", "length = '3'", "grid.toml:6:10: length = \"3\""),
    ] {
        let error = wrong(from, to);
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn a_key_of_any_depth_is_an_axis() {
    for (key, values) in [
        ("queues", "['codel', 'pie']"),
        ("test.with", "[['voip'], ['web']]"),
        ("tcp.ecn", "[true, false]"),
        ("link.up", "['5mbit', '6mbit']"),
        ("test.flows", "[1, 2]"),
    ] {
        let text = format!(
            "queues = ['codel']\n[test]\nname = 'tcp_nup'\nlength = '1s'\n[sweep]\n[[sweep.axis]]\nkey = '{key}'\nvalues = {values}\n"
        );
        let sweep =
            Sweep::parse(&text, "grid.toml", Path::new("")).unwrap_or_else(|error| panic!("{key}: {error}"));
        let of = |step: usize| sweep.experiment(&[sweep.axes[0].step(step)]);
        let [one, two] = [0, 1].map(|step| of(step).unwrap_or_else(|error| panic!("{key}: {error}")));
        assert_ne!(format!("{:?}", one.jobs()), format!("{:?}", two.jobs()), "{key}");
    }
}

#[test]
fn the_text_around_a_value_is_that_of_a_queue() {
    let text = "test = 'rrul'\n[[variant]]\nname = 'ours'\n[sweep]\n[[sweep.axis]]\nkey = 'variant.ours.queue'\n\
                text = 'fq_codel,target={}'\nname = 'target'\nfrom = '1ms'\nto = '20ms'\nsteps = 3\nscale = 'log'\n";
    let sweep = Sweep::parse(text, "grid.toml", Path::new("")).expect("a sweep");
    let words: Vec<String> = (0..3).map(|step| sweep.axes[0].step(step).words).collect();
    assert_eq!(words, ["1ms", "4472us", "20ms"]);
    let experiment = sweep.experiment(&[sweep.axes[0].step(1)]).expect("an experiment");
    let queue = format!("{:?}", experiment.variants[0].scenario.links);
    assert!(queue.contains("target=4472us"), "{queue}");
}

/// The figures of a real run, for every point.
#[cfg(target_os = "linux")]
fn known(job: &Job, stop: &AtomicBool) -> Result<Run, Error> {
    static RUN: std::sync::OnceLock<Run> = std::sync::OnceLock::new();
    if let Some(run) = RUN.get() {
        return Ok(run.clone());
    }
    let run = simulate::run_one(job, stop)?;
    Ok(RUN.get_or_init(|| run).clone())
}

/// The child of the test below: all of a sweep of `GOODQUEUE_POINTS` points, from the file to the table. It
/// prints the largest memory that it had (`VmHWM` of proc_pid_status(5)), kB.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "the child of memory_does_not_grow_with_the_points"]
fn a_sweep_of_many_points() {
    let points = std::env::var("GOODQUEUE_POINTS").expect("a number of points");
    let text = format!(
        "queues = ['fq_codel']
        [test]
        name = 'tcp_1up'
        length = '100ms'
        idle = '100ms'
        step = '50ms'
        [sweep]
        design = 'random'
        points = {points}
        verify = 1
        [[sweep.axis]]
        key = 'link.rate'
        from = '1mbit'
        to = '20mbit'
        [[sweep.axis]]
        key = 'link.rtt'
        from = '1ms'
        to = '20ms'"
    );
    let scratch = Scratch::new(&format!("memory-{points}"));
    let study = study(&text).with(known);
    let (counter, end, results) = sweep(&study, &scratch.0, 0);
    let (units, store) = (units(&study), Store::open(&scratch.0).expect("a folder"));
    // Each once, and a fresh seed. Of many points some are the same.
    assert!(end.is_ok() && counter.done as u64 == units.len() + 1, "{end:?}");
    assert_eq!(findings(&study, &units, &results).expect("findings").missing, 0);
    store.put_table("points.parquet", &study, (&units, &results)).expect("written");
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line"));
}

/// Ten times the points may take 512 KiB more: what waits for the next part, and what the allocator keeps. It
/// has one arena: each further one that it makes for a thread takes some 500 kB, and how many it makes is
/// chance.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_points() {
    let peak = |points: &str| {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
        child.args(["--exact", "tests::a_sweep_of_many_points", "--ignored", "--nocapture"]);
        child.env("MALLOC_ARENA_MAX", "1");
        let output = child.env("GOODQUEUE_POINTS", points).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("VmHWM:"));
        let (_, words) = line.unwrap_or_else(|| panic!("no figure in {text}"));
        words.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB")
    };
    let (few, many) = (peak("2000"), peak("20000"));
    assert!(many < few + 512, "{few} kB with 2000 points, {many} kB with 20 000");
}
