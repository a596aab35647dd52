//! A folder of truth with a simulator that says what the test wants: reading, judging, showing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use goodqueue::codel::Parity;
use goodqueue::{Rate, Span};
use goodqueue_experiment::Error;
use goodqueue_proof::truth::case::{Case, Shaper};
use goodqueue_proof::truth::summary::{Outcome, Runs};
use goodqueue_proof::truth::{
    Ending, Options, Report, Selection, SimulateError, Tried, case, compare_folder, summary,
};
use goodqueue_report::Direction;

const LONG: &str = "twoway-m4d2.5-r40-fqcodel-ecn-long-name";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth")
}

fn args(folder: PathBuf) -> Selection {
    Selection { folder, cases: Vec::new(), seeds: None, tried: Tried::Either }
}

fn read() -> (Vec<Case>, Runs) {
    let mut warnings = BTreeSet::new();
    let cases = case::read(&fixture().join("cases.jsonl"), &mut warnings).expect("cases");
    let runs = summary::read(&fixture().join("summary.jsonl"), &cases, &mut warnings).expect("runs");
    assert!(warnings.is_empty(), "{warnings:?}");
    (cases, runs)
}

/// A simulator that gives the kernel's first run, changed.
fn kernel_but(
    change: impl Fn(&Case, &Options, &mut Outcome) + Sync,
) -> impl Fn(&Case, u64, &Options) -> Result<Outcome, SimulateError> + Sync {
    let (_, runs) = read();
    move |case, _, options| {
        let mut outcome = runs[&case.name].values().next().expect("a run").clone();
        change(case, options, &mut outcome);
        Ok(outcome)
    }
}

fn compare(change: impl Fn(&Case, &Options, &mut Outcome) + Sync) -> Report {
    compare_folder(&args(fixture()), &kernel_but(change), &()).expect("a good folder")
}

fn ending<'a>(report: &'a Report, name: &str) -> &'a Ending {
    &report.cases.iter().find(|case| case.name == name).expect("the case").ending
}

#[test]
fn a_case_says_what_the_file_says() {
    let (cases, runs) = read();
    let case = &cases[1];
    assert_eq!(
        (case.rtt, case.length, case.warm),
        (Span::from_millis(40), Span::from_secs(20), Span::from_secs(1))
    );
    assert!(case.ecn && !case.offload && case.owd);
    let down = case.down.as_ref().expect("a bottleneck");
    assert_eq!((down.shaper, down.rate), (Shaper::Tbf, Rate(2_500_000)));
    assert_eq!(down.queue_under(Parity::Sane).expect("built").to_string(), "fq_codel,ecn=on");
    assert_eq!(
        down.queue_under(Parity::LinuxStale).expect("built").to_string(),
        "fq_codel,ecn=on,parity=linux-stale"
    );
    let flow = &case.flows[3];
    assert_eq!((flow.way, flow.cc.as_str()), (Direction::Down, "cubic"));
    assert_eq!(
        (flow.start, flow.stop, flow.jitter),
        (Span::from_secs(5), Span::from_secs(15), Span::from_millis(100))
    );
    assert_eq!((case.ping_gap, case.ping_payload, case.pings.len()), (Span::from_millis(20), 56, 2));
    assert_eq!(cases[2].unbuilt(), Some("the queue `hfsc` is not built"));
    assert_eq!(runs["m8-r20-1cubic-pfifo60"].keys().copied().collect::<Vec<_>>(), [1, 2]);
    let outcome = &runs[LONG][&1];
    assert_eq!(outcome.up.queue.expect("a queue").marks, 80);
    assert_eq!(outcome.down.goodput.expect("flows").jain_steady, None);
}

#[test]
fn equal_figures_are_within_and_skipped_cases_do_not_count_as_passed() {
    let report = compare(|_, _, _| {});
    let count = report.count();
    assert_eq!((count.within, count.outside, count.skipped, count.judged()), (3, 0, 1, 3));
    assert!(report.end().is_ok());
    let text = report.to_string();
    assert!(text.contains("SKIPPED, without a verdict (1 case):\n  m8-r20-1cubic-hfsc: the queue `hfsc`"));
    assert!(text.ends_with("of 23 figures 0 undecided, 0 outside; 1 SKIPPED\n"), "{text}");
    let only = Selection { cases: vec!["m8-r20-1cubic-hfsc".to_owned()], ..args(fixture()) };
    let none = compare_folder(&only, &kernel_but(|_, _, _| {}), &()).expect("a good folder");
    let end = none.end().expect_err("nothing judged");
    assert!(end.code() == 1 && end.to_string().starts_with("nothing was judged"), "{end}");
}

#[test]
fn one_figure_outside_is_exit_code_1_and_is_named_with_its_bar() {
    // Kernel 81 ms above base (80 and 82), bar 15 %: 12.15 ms. Chance: 12.71, t of one degree of freedom.
    let report = compare(|case, _, outcome| {
        if let (Some(ping), "m8-r20-1cubic-pfifo60") = (&mut outcome.up.ping, case.name.as_str()) {
            ping.steady.as_mut().expect("answers").p50 = 20.0 + 81.0 + 25.0;
        }
    });
    assert_eq!(report.end().expect_err("outside").code(), 1);
    let text = report.to_string();
    assert!(text.contains("OUTSIDE (1 case):\n  m8-r20-1cubic-pfifo60 up, median above base, ms\n      Linux 81.00 (80.00 to 82.00, 2 runs), ours 106.0"));
    assert!(
        text.contains(
            "difference 25.00, bar 12.15 = 1 ms or 15 %, the larger: 2.058 times the bar; chance 12.71"
        ),
        "{text}"
    );
}

#[test]
fn a_difference_that_chance_explains_is_undecided_and_no_failure() {
    let report = compare(|case, _, outcome| {
        if let (Some(ping), "m8-r20-1cubic-pfifo60") = (&mut outcome.up.ping, case.name.as_str()) {
            ping.steady.as_mut().expect("answers").p50 = 20.0 + 81.0 + 12.2;
        }
    });
    assert!(report.end().is_ok() && report.count().undecided == 1 && report.count().within == 2);
    let text = report.to_string();
    assert!(
        text.contains("UNDECIDED: outside the bar, but chance can explain it (1 case):\n  m8-r20"),
        "{text}"
    );
    assert!(text.contains("1.004 times the bar; chance 12.71"), "{text}");
}

#[test]
fn stale_state_is_tried_where_fq_codel_is_outside() {
    let double = |outcome: &mut Outcome| outcome.up.queue.as_mut().expect("a queue").marks *= 2;
    let report = compare(|case, options, outcome| {
        if case.name == LONG && options.codel_parity == Parity::Sane {
            double(outcome);
        }
    });
    let Ending::NeedsParity { sane, stale } = ending(&report, LONG) else { panic!("needs parity") };
    assert_eq!((sane.misses().count(), stale.misses().count()), (1, 0));
    assert!(report.end().is_ok());
    assert!(report.to_string().contains("NEEDS PARITY"));
    // Outside both ways; and codel alone is not tried a second time.
    let report = compare(|_, _, outcome| outcome.up.goodput.as_mut().expect("flows").mbit = 0.0);
    assert!(matches!(ending(&report, LONG), Ending::Outside { stale: Some(_), .. }));
    assert!(matches!(ending(&report, "m2-r30-2cubic-codel"), Ending::Outside { stale: None, .. }));
}

#[test]
fn the_simulator_may_refuse_or_fail() {
    let simulate = |case: &Case, _: u64, _: &Options| match case.flows.len() {
        1 => Err(SimulateError::NotBuilt("no cubic".to_owned())),
        _ => Err(SimulateError::Failed("the clock stood still".to_owned())),
    };
    let report = compare_folder(&args(fixture()), &simulate, &()).expect("a good folder");
    let count = report.count();
    assert_eq!((count.skipped, count.failed, count.judged()), (2, 2, 0));
    assert_eq!(report.end().expect_err("failed").code(), 1);
    assert!(report.to_string().contains("FAILED (2 cases):\n"));
}

#[test]
fn seeds_are_as_many_as_the_kernels_and_24_at_least() {
    let seeds = |given: Option<u64>| {
        let args = Selection { seeds: given, ..args(fixture()) };
        compare_folder(&args, &kernel_but(|_, _, _| {}), &()).map(|report| match ending(&report, LONG) {
            Ending::Within { run } => run.seeds,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(seeds(None).expect("24"), 24);
    assert_eq!(seeds(Some(7)).expect("seven"), 7);
    assert_eq!(seeds(Some(0)).expect_err("none").code(), 2);
}

/// Compares with a golden file; with `GOODQUEUE_BLESS=1` writes it.
fn golden(path: &Path, got: &str) {
    if std::env::var_os("GOODQUEUE_BLESS").is_some_and(|value| value == "1") {
        fs::write(path, got).expect("written");
    }
    let expected = fs::read_to_string(path).expect("a golden file");
    assert_eq!(got, expected, "{}", path.display());
}

/// What the simulator gives for the experiments of a real kernel that are in the tree is in the tree too.
#[test]
fn the_page_of_the_real_kernel_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let args = args(root.join("vectors/truth"));
    let report = compare_folder(&args, &goodqueue_proof::truth::simulate, &()).expect("a good folder");
    golden(&root.join("docs/truth.md"), &report.markdown());
    let count = report.count();
    assert_eq!((count.failed, count.judged()), (0, 51));
}

#[test]
fn table_and_page_equal_the_golden_files() {
    let report = compare(|case, options, outcome| match case.name.as_str() {
        "m8-r20-1cubic-pfifo60" => {
            outcome.up.queue.as_mut().expect("a queue").drops_steady = 80;
            outcome.up.ping.as_mut().expect("probes").steady.as_mut().expect("answers").p50 = 121.0;
            outcome.up.goodput.as_mut().expect("flows").mbit = 7.35;
        }
        LONG if options.codel_parity == Parity::Sane => {
            outcome.flows[1].mbit_steady = Some(1.5);
        }
        _ => {}
    });
    let text = report.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    golden(&fixture().join("table.txt"), &text);
    golden(&fixture().join("page.md"), &report.markdown());
}

/// A copy of the fixture with a text replaced in one of its files.
fn spoilt(tag: &str, file: &str, from: &str, to: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("goodqueue-truth-{}-{tag}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for name in ["cases.jsonl", "summary.jsonl"] {
        let text = fs::read_to_string(fixture().join(name)).expect("the fixture");
        let is_it = name == file;
        assert!(!is_it || text.contains(from), "{from}");
        fs::write(folder.join(name), if is_it { text.replacen(from, to, 1) } else { text }).expect("written");
    }
    folder
}

fn refusal(tag: &str, file: &str, from: &str, to: &str) -> String {
    let folder = spoilt(tag, file, from, to);
    let end = compare_folder(&args(folder.clone()), &kernel_but(|_, _, _| {}), &()).expect_err(to);
    fs::remove_dir_all(folder).expect("removed");
    assert!(matches!(end, Error::Usage(_)), "{end}");
    end.to_string()
}

#[test]
fn bad_input_is_named_with_file_line_and_key() {
    for (at, (file, from, to, names)) in [
        ("cases.jsonl", "\"mbit\": 8,", "\"mbit\": 0,", "cases.jsonl, line 1: up.mbit: 0 is out of range"),
        ("cases.jsonl", "\"mbit\": 2.5,", "\"mbit\": \"x\",", "cases.jsonl, line 2: down.mbit: is no number"),
        (
            "cases.jsonl",
            "\"tbf\"",
            "\"hfsc\"",
            "line 2: down.shaper: no shaper `hfsc`; there are htb, tbf, own",
        ),
        ("cases.jsonl", "\"dur\": 20", "\"dur\": 0", "line 1: dur: 0 is out of range"),
        ("cases.jsonl", "\"dur\": 20", "\"dur\": NaN", "line 1: no JSON: "),
        ("cases.jsonl", "\"dur\": 20", "\"dur\": 1e999", "line 1: no JSON: "),
        ("cases.jsonl", "\"rtt_ms\": 20, ", "", "line 1: rtt_ms: is missing"),
        ("cases.jsonl", "\"ecn\": 0", "\"ecn\": 7", "line 1: ecn: 7 is neither 0 nor 1"),
        ("cases.jsonl", "[\"up\"]", "[\"left\"]", "line 1: pings: \"left\" is neither up nor down"),
        ("cases.jsonl", "\"cubic\", 5, 15", "\"cubic\", 5, 4", "line 2: flows[3]: it stops at 4 s"),
        ("cases.jsonl", "[\"d2\"", "[\"d1\"", "line 2: flows[3]: the flow d1 is given twice"),
        (
            "cases.jsonl",
            "m8-r20-1cubic-hfsc",
            "m8-r20-1cubic-pfifo60",
            "line 3: the case m8-r20-1cubic-pfifo60",
        ),
        (
            "summary.jsonl",
            "\"seed\": 2",
            "\"seed\": 1",
            "summary.jsonl, line 2: seed 1 of m8-r20-1cubic-pfifo60",
        ),
        ("summary.jsonl", "m8-r20-1cubic-pfifo60", "m9", "line 1: name: there is no case m9"),
        ("summary.jsonl", "\"rtt_ms\": 20", "\"rtt_ms\": 21", "line 1: rtt_ms: is not what the case"),
        ("summary.jsonl", "\"p50\": 100.0, ", "", "line 1: ping_ms.up.all.p50: is missing"),
        ("summary.jsonl", "\"drops\": 21", "\"drops\": -1", "line 1: queue.up.drops: is no whole number"),
        ("summary.jsonl", "\"id\": \"c1\"", "\"id\": \"c9\"", "line 1: flows: are not the flows of the case"),
        ("summary.jsonl", "{\"name\"", "[{\"name\"", "line 1: no JSON"),
    ]
    .into_iter()
    .enumerate()
    {
        let said = refusal(&at.to_string(), file, from, to);
        assert!(said.contains(names), "{to}: {said}");
    }
}

#[test]
fn missing_files_are_named() {
    let missing = |args: &Selection| {
        let end = compare_folder(args, &kernel_but(|_, _, _| {}), &()).expect_err("missing");
        assert_eq!(end.code(), 2);
        end.to_string()
    };
    assert!(missing(&args(fixture().join("nowhere"))).contains("nowhere/cases.jsonl: No such file"));
    let typo = Selection { cases: vec!["m8-r20-1cubic-pfifo6".to_owned()], ..args(fixture()) };
    assert!(missing(&typo).ends_with("; did you mean m8-r20-1cubic-pfifo60?"));
}

#[test]
fn unknown_keys_are_warnings_each_once() {
    let folder = spoilt("keys", "cases.jsonl", "\"mbit\": 8,", "\"mbit\": 8, \"colour\": 1,");
    let text = fs::read_to_string(folder.join("cases.jsonl")).expect("text");
    let text = text.replace("\"owd\": false}", "\"owd\": false, \"note\": \"n\"}");
    fs::write(folder.join("cases.jsonl"), text).expect("written");
    let mut warnings = BTreeSet::new();
    case::read(&folder.join("cases.jsonl"), &mut warnings).expect("cases");
    fs::remove_dir_all(folder).expect("removed");
    let warnings: Vec<String> = warnings.into_iter().collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].ends_with("cases.jsonl: unknown key `note` is ignored"));
    assert!(warnings[1].ends_with("cases.jsonl: unknown key `up.colour` is ignored"));
}
