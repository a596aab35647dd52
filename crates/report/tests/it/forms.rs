//! Every format of every made-up record.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use std::fs;
use std::path::{Path, PathBuf};

use goodqueue_report::table::Layout;
use goodqueue_report::{
    Error, MISSING, ProbeSeries, Record, Repetition, SCHEMA, Summary, csv, html, table, write_all,
};

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("goodqueue-report-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        fs::write(&path, got).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(got, want, "\n{got}\ndiffers from {}; GOODQUEUE_BLESS=1 rewrites it", path.display());
}

#[test]
fn tables_equal_the_golden_files() {
    for (name, record) in fixture::all() {
        let text = table::text(&record, Layout::default());
        golden(&format!("{name}.txt"), &text);
        for columns in [40, 60, 80, 100, 120] {
            let text = table::text(&record, Layout { columns, ..Layout::default() });
            // Tables end where the remarks begin.
            let rows = text.lines().take_while(|l| !l.contains(": ") && !l.starts_with("simulated"));
            let widest = rows.map(|line| line.chars().count()).max();
            // The columns that are never left out take 78 characters at most.
            assert!(widest <= Some(columns.max(78)), "{name} at {columns}: {widest:?}\n{text}");
        }
        let wide = table::text(&record, Layout { wide: true, verbose: true, ..Layout::default() });
        golden(&format!("{name}-wide.txt"), &wide);
    }
    golden("square.md", &table::markdown(&fixture::square()));
}

#[test]
fn colours_change_nothing_but_colours() {
    let record = fixture::square();
    let mut plain = table::text(&record, Layout { colour: true, ..Layout::default() });
    // A+, A and F.
    for code in ["\x1b[1;32m", "\x1b[32m", "\x1b[31m", "\x1b[0m"] {
        assert!(plain.contains(code), "{code:?} is not in {plain:?}");
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, table::text(&record, Layout::default()));
}

#[test]
fn a_record_comes_back_as_written() {
    let folder = Folder::new("back");
    for (name, record) in fixture::all() {
        for suffix in ["json", "json.gz", "gqz"] {
            let path = folder.0.join(format!("{name}.{suffix}"));
            record.write(&path).unwrap();
            assert_eq!(Record::read(&path).unwrap(), record);
        }
        let path = folder.0.join("with-summary.json");
        fs::write(&path, record.to_json().unwrap()).unwrap();
        assert_eq!(Record::read(&path).unwrap(), record);
        let value: serde_json::Value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
        for (i, run) in record.runs.iter().enumerate() {
            let summary: Summary = serde_json::from_value(value["runs"][i]["summary"].clone()).unwrap();
            assert_eq!(summary, Summary::of(&record, run));
        }
    }
}

#[test]
fn damage_is_named() {
    let folder = Folder::new("damage");
    let record = fixture::ping();
    let whole = folder.0.join("whole.json.gz");
    record.write(&whole).unwrap();
    let bytes = fs::read(&whole).unwrap();
    let cut = folder.0.join("cut.json.gz");
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let error = Record::read(&cut).unwrap_err();
    assert!(matches!(&error, Error::Damaged { line: 1, column, .. } if *column > 100), "{error}");
    assert!(error.to_string().contains("cut.json.gz"), "{error}");

    let words = folder.0.join("words.json");
    fs::write(&words, "{\n\"schema\": 1,\n\"seed\": \"x\"}").unwrap();
    let error = Record::read(&words).unwrap_err();
    assert!(error.to_string().contains("(line 3, column 11)"), "{error}");

    let other = folder.0.join("other.json");
    fs::write(&other, "{}").unwrap();
    assert!(Record::read(&other).unwrap_err().to_string().contains("no `schema`"));

    let empty = folder.0.join("empty.json");
    fs::write(&empty, "{\"schema\": 1}").unwrap();
    let error = Record::read(&empty).unwrap_err();
    assert!(matches!(error, Error::Empty { .. }) && error.to_string().contains("empty.json"), "{error}");

    let newer = folder.0.join("newer.json");
    fs::write(&newer, format!("{{\"schema\": {}, \"seed\": \"of another kind\"}}", SCHEMA + 1)).unwrap();
    let error = Record::read(&newer).unwrap_err();
    assert!(matches!(error, Error::Newer { found, .. } if found == SCHEMA + 1), "{error}");

    let error = Record::read(folder.0.join("none.json")).unwrap_err();
    assert!(error.to_string().starts_with("cannot read") && error.to_string().contains("none.json"));
}

#[test]
fn everything_is_written_completely() {
    let folder = Folder::new("whole");
    for (name, record) in fixture::all() {
        let dir = folder.0.join(name);
        let files = write_all(&record, &dir).unwrap();
        assert!(files.iter().all(|f| fs::metadata(f).unwrap().len() > 0));
        let entries = [".", "charts", "csv"].into_iter().flat_map(|at| fs::read_dir(dir.join(at)).unwrap());
        let entries = entries.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_file());
        let names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert_eq!(names.len(), files.len(), "{name}: something was left behind: {names:?}");
        for want in ["record.gqz", "report.html", "overview.svg", "summary.csv", "latency.csv"] {
            assert!(names.iter().any(|n| n == want), "{name}: no {want}");
        }
        assert_eq!(names.iter().filter(|n| n.ends_with(".flent.gz")).count(), record.runs.len());
        // Again, over the existing files.
        assert_eq!(write_all(&record, &dir).unwrap(), files);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = Folder::new("full");
    fs::create_dir_all(folder.0.join("report.html")).unwrap();
    let error = write_all(&fixture::ping(), &folder.0).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot write") && error.to_string().contains("report.html"),
        "{error}"
    );
    let left = fs::read_dir(&folder.0)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|x| x == "part"));
    assert_eq!(left.count(), 0);
    // No folder before its first file.
    assert!(!folder.0.join("charts").exists() && !folder.0.join("csv").exists());

    // A folder that was created for a file that could not be written is removed too.
    fs::remove_dir(folder.0.join("report.html")).unwrap();
    fs::write(folder.0.join("csv"), "in the way").unwrap();
    let error = write_all(&fixture::ping(), &folder.0).unwrap_err();
    assert!(error.to_string().contains("csv"), "{error}");
    assert!(!folder.0.join("charts").exists());
}

#[test]
fn the_rate_error_says_when_it_was_not_measured() {
    let page = html(&fixture::square());
    assert!(page.contains("<dt>Rate error up</dt><dd>−0.030 %</dd>"));
    assert!(
        page.contains("<dt>Rate error down</dt><dd>not measured: the line was never busy long enough</dd>")
    );
}

#[test]
fn a_simulated_run_is_identified_in_table_and_page() {
    let mut record = fixture::square();
    let line = |record: &Record| {
        let text = table::text(record, Layout { verbose: true, ..Layout::default() });
        text.lines().find(|line| line.starts_with("simulated with seed")).map(str::to_owned)
    };
    let traces =
        "simulated with seed 42; trace hashes: pfifo:1000 0123456789abcdef, fq_codel 000123456789abcd";
    assert_eq!(line(&record).as_deref(), Some(traces));
    let brief = table::text(&record, Layout::default());
    assert!(brief.contains("simulated with seed 42\n") && !brief.contains("trace hash"));
    let page = html(&record);
    assert!(page.contains("What was simulated") && page.contains("<code>000123456789abcd</code>"));
    record.runs.iter_mut().for_each(|run| run.simulation = None);
    assert_eq!(line(&record), None);
    assert!(!html(&record).contains("What was simulated"));
}

#[test]
fn repetitions_have_an_interval_and_a_single_run_has_none() {
    let mut record = fixture::square();
    assert!(!table::text(&record, Layout::default()).contains("repetitions"));
    for (drops, figures) in [[1, 2, 3], [10, 10, 10]].into_iter().zip(&mut record.runs) {
        figures.repetitions = drops
            .map(|drops| Repetition {
                drops,
                goodput_up_bps: Some(18_000_000 + drops),
                ..Repetition::default()
            })
            .to_vec();
    }
    // Mean 2, s = 1, and 4.3027 / sqrt(3) = 2.48.
    for text in [table::text(&record, Layout::default()), table::markdown(&record), html(&record)] {
        assert!(text.contains("mean of 3 repetitions"), "{text}");
        assert!(text.contains("2.0 ± 2.5") && text.contains("10.0, all equal"), "{text}");
        assert!(text.contains("18.00 ± 0.00"), "{text}");
        assert!(!text.contains("Mbit/s down ±"), "{text}");
    }
    let json = record.to_json().expect("JSON");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["runs"][0]["summary"]["repeated"]["drops"]["mean"], 2.0);
    let back: Record = serde_json::from_str(&json).expect("a record");
    assert_eq!(back.runs[0].repetitions, record.runs[0].repetitions);
}

#[test]
fn a_run_with_its_own_link_is_measured_against_it() {
    let mut record = fixture::square();
    let used = |record: &Record| Summary::of(record, &record.runs[0]).queue_up.utilisation.expect("a rate");
    let whole = used(&record);
    let mut link = record.link.clone();
    link.up.rate_bps = record.link.up.rate_bps.map(|rate| rate * 2);
    record.runs[0].link = Some(link);
    assert!((used(&record) * 2.0 - whole).abs() < 1e-9);
    assert!(html(&record).contains("others as named"));
}

#[test]
fn delays_to_hosts_at_several_distances_are_rises() {
    let page = html(&fixture::rtt_fair());
    for words in [
        ">rise of the round-trip time over idle (ms)<",
        ">Rise of the round-trip time over idle (ms)<",
        ">20–65</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!html(&fixture::rrul()).contains("over idle (ms"));
}

#[test]
fn goodput_above_the_rate_is_explained() {
    let note = "Goodput above the link's rate: a retransmission";
    let mut record = fixture::square();
    record.link.up.rate_bps = Some(20_000_000);
    assert!(!html(&record).contains(note));
    record.runs[0].flows[0].rx_bytes[50] = 550_000;
    assert!(html(&record).contains(note) && !html(&record).contains("cut at the axis"));
    record.runs[0].flows[0].rx_bytes[50] = 5_000_000;
    assert!(html(&record).contains("cut at the axis"));
}

fn assert_numbers(name: &str, text: &str) {
    for word in ["NaN", "inf,", "inf\"", ">inf", "Infinity", " inf"] {
        let clean = text.replace("Infinity,", "").replace("Number.isNaN", "");
        assert!(!clean.contains(word) || word == " inf", "{name} contains {word}");
    }
}

#[test]
fn drawings_are_well_formed() {
    let folder = Folder::new("svg");
    for (name, record) in fixture::all() {
        for file in write_all(&record, folder.0.join(name)).unwrap() {
            let at = file.display().to_string();
            match file.extension().and_then(|e| e.to_str()) {
                Some("svg") => {
                    let text = fs::read_to_string(&file).unwrap();
                    let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{at}: {e}"));
                    assert_eq!(document.root_element().tag_name().name(), "svg");
                    assert!(
                        document
                            .descendants()
                            .any(|n| n.has_tag_name("title") || n.tag_name().name() == "title")
                    );
                    assert!(
                        !text.contains("var("),
                        "{at}: a standalone file has no page to take colours from"
                    );
                    assert_numbers(&at, &text);
                }
                Some("csv") => {
                    let text = fs::read_to_string(&file).unwrap();
                    assert_numbers(&at, &text);
                    let columns = text.lines().next().unwrap().split(',').count();
                    assert!(
                        record.title.contains(',')
                            || text.lines().all(|l| l.split(',').count() == columns || l.contains('"')),
                        "{at}"
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_page_is_one_small_file() {
    let long = fixture::rrul_of(300);
    let page = html(&long);
    println!("page of 5 min, 3 queues, 3 probes at 10 ms, 8 flows: {} bytes", page.len());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    for (name, record) in fixture::all() {
        let page = html(&record);
        assert_numbers(name, page.split("<script>").next().unwrap());
        // A clip path refers to a shape in the page itself.
        let page = page.replace("url(#", "");
        for bad in ["src=", "href=\"http", "url(", "@import", "<link rel=\"stylesheet", "fetch(", "{{"] {
            assert!(!page.contains(bad), "{name}: {bad}");
        }
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let charts: serde_json::Value = serde_json::from_str(data).unwrap();
        for (id, chart) in charts.as_object().unwrap() {
            assert!(page.contains(&format!("data-chart=\"{id}\"")), "{id}");
            let lengths: Vec<usize> = chart["series"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s["v"].as_array().unwrap().len())
                .collect();
            assert!(lengths.iter().all(|n| n == &lengths[0] && *n <= 400), "{id}: {lengths:?}");
        }
    }
}

#[test]
fn text_from_the_user_is_not_markup() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut record = fixture::square();
    record.title = evil.into();
    record.note = evil.into();
    record.version = evil.into();
    record.arm = evil.into();
    record.started = evil.into();
    record.command = vec![evil.into()];
    record.warnings = vec![evil.into()];
    record.host.kernel = evil.into();
    record.host.sysctls.insert(evil.into(), evil.into());
    record.test.name = evil.into();
    record.test.about = evil.into();
    record.test.flows[0].name = evil.into();
    record.test.flows[0].cc = evil.into();
    record.test.probes[0].name = evil.into();
    record.runs[0].queue = evil.into();
    record.runs[0].parameters.insert(evil.into(), evil.into());
    record.runs[0].validity.valid = false;
    record.runs[0].validity.reasons = vec![evil.into()];
    record.runs[0].up.drop_reasons.insert(evil.into(), 3);
    record.runs[0].up.counters.insert(evil.into(), 3);
    let page = html(&record);
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
    let folder = Folder::new("evil");
    for file in write_all(&record, &folder.0).unwrap() {
        assert!(file.starts_with(&folder.0));
        if file.extension().is_some_and(|e| e == "svg") {
            roxmltree::Document::parse(&fs::read_to_string(&file).unwrap()).unwrap();
        }
    }
}

#[test]
fn lost_probes_are_gaps_in_csv() {
    let mut record = fixture::ping();
    record.runs[0].probes[0].rtt_ns[0] = MISSING;
    let csv = csv::latency(&record);
    assert!(csv.lines().nth(1).unwrap().starts_with("fq_codel,Ping (ms) UDP,-2,,"), "{csv:.200}");
}

#[test]
fn the_suffix_determines_the_format() {
    let folder = Folder::new("suffix");
    let record = fixture::ping();
    for suffix in goodqueue_report::SUFFIXES {
        let path = folder.0.join(format!("out{suffix}"));
        match goodqueue_report::write_as(&record, &path) {
            Ok(()) => assert!(fs::metadata(&path).unwrap().len() > 100, "{suffix}"),
            Err(e) => {
                let is_left_out = suffix == ".png" && !cfg!(feature = "png")
                    || suffix == ".parquet" && !cfg!(feature = "parquet");
                assert!(is_left_out, "{e}");
            }
        }
    }
    let error = goodqueue_report::write_as(&record, folder.0.join("out.pdf")).unwrap_err();
    assert!(error.to_string().contains("out.pdf") && error.to_string().contains(".html"), "{error}");
    assert!(goodqueue_report::write_as(&fixture::square(), folder.0.join("three.flent.gz")).is_err());
}

#[cfg(feature = "png")]
#[test]
fn pictures_are_complete() {
    let folder = Folder::new("png");
    let path = folder.0.join("overview.png");
    goodqueue_report::write_as(&fixture::square(), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xae\x42\x60\x82"));
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (width, height, packed) = (number(16), number(20), number(33));
    assert_eq!(&bytes[37..41], b"IDAT");
    let mut rows = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(&bytes[41..41 + packed]);
    std::io::Read::read_to_end(&mut decoder, &mut rows).unwrap();
    assert_eq!(rows.len(), (width * 3 + 1) * height);
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[37..41 + packed]);
    assert_eq!(crc.sum() as usize, number(41 + packed));
    // Not all of it is white.
    assert!(rows.iter().filter(|&&b| b < 128).count() > 10_000);
}

#[test]
fn missing_queues_are_named_in_every_format() {
    let mut record = fixture::square();
    let names: Vec<String> = record.runs.iter().map(|run| run.queue.clone()).collect();
    assert!(record.missing().is_empty(), "a record of an earlier version says nothing of its plan");
    record.planned = [names.as_slice(), &["codel".into(), "pfifo:1000".into()]].concat();
    assert_eq!(record.missing(), ["codel", "pfifo:1000"]);
    let said = "2 of 5 queues are missing: codel, pfifo:1000: the run ended before they were measured";
    for text in [table::text(&record, Layout::default()), table::markdown(&record), html(&record)] {
        assert!(text.contains(said), "{text:.2000}");
    }
    let json = record.to_json().unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["missing"], serde_json::json!(["codel", "pfifo:1000"]));
    let back: Record = serde_json::from_str(&json).unwrap();
    assert_eq!(back.planned, record.planned);

    record.planned.truncate(names.len());
    assert!(record.missing().is_empty());
    assert!(!table::text(&record, Layout::default()).contains("missing"));
    assert!(!record.to_json().unwrap().contains("\"missing\""));
}

/// Every tenth answer never arrived.
fn lose(probe: &mut ProbeSeries) {
    for delays in [&mut probe.rtt_ns, &mut probe.up_ns, &mut probe.down_ns] {
        delays.iter_mut().step_by(10).for_each(|delay| *delay = MISSING);
    }
}

#[test]
fn findings_and_lost_probes_are_in_table_and_page() {
    let mut record = fixture::square();
    record.runs.iter_mut().for_each(|run| lose(&mut run.probes[0]));
    let found: Vec<String> = Summary::all(&record).into_iter().flat_map(|s| s.findings).collect();
    assert!(found.iter().any(|f| f.contains("of the probes were lost under load")), "{found:?}");
    for finding in found {
        assert!(
            table::text(&record, Layout::default()).contains(&finding) && html(&record).contains(&finding),
            "{finding}"
        );
    }
}

#[test]
fn loss_beside_a_grade_is_red() {
    let mut record = fixture::square();
    let lossy = |record: &Record| {
        table::text(record, Layout { colour: true, ..Layout::default() }).contains("\x1b[31m")
            && html(record).contains("% lost<")
    };
    record.runs.retain(|run| run.queue == "fq_codel");
    assert!(!lossy(&record));
    lose(&mut record.runs[0].probes[0]);
    let grade = Summary::of(&record, &record.runs[0]).grade.unwrap();
    assert!(grade.is_lossy(), "{grade:?}");
    assert!(lossy(&record));
    assert!(html(&record).contains("of the probes"), "the headline does not say it");
}

#[test]
fn identical_repetitions_have_no_interval_and_the_report_says_why() {
    let mut record = fixture::square();
    let one = |seed| Repetition { seed, drops: 7, goodput_up_bps: Some(18_000_000), ..Repetition::default() };
    record.runs[0].repetitions = [1, 2, 3].map(one).to_vec();
    for text in [table::text(&record, Layout::default()), html(&record)] {
        assert!(
            text.contains("18.00, all equal") && text.contains("All 3 repetitions are identical"),
            "{text:.2000}"
        );
        assert!(!text.contains("± 0.00"), "{text:.2000}");
    }
}

#[test]
fn a_hundred_variants_make_a_small_page_with_a_matrix() {
    let record = fixture::sweep();
    let page = html(&record);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<table class=\"matrix").count(), 2);
    // Every variant is in the table; few are drawn.
    assert!(record.runs.iter().all(|run| page.contains(&run.queue)));
    assert!(page.matches("data-chart=\"side-").count() <= 7);
    assert_eq!(page.matches("<h1>").count(), 1);
    let start = page.find("<h1>").unwrap();
    let headline = &page[start..start + page[start..].find("</h1>").unwrap()];
    assert!(headline.matches("<b class").count() == 2, "{headline}");
    // Twelve have a panel each.
    let mut few = record;
    few.runs.truncate(12);
    let page = html(&few);
    assert_eq!((page.matches("data-chart=\"side-").count(), page.matches("class=\"matrix").count()), (12, 0));
}

#[test]
fn many_flows_are_drawn_as_quantiles_and_can_be_picked() {
    let record = fixture::crowd();
    let page = html(&record);
    assert!(page.contains("Show one flow") && page.contains("<option value=\"199\">flow 200</option>"));
    assert!(page.contains(">highest: ") && page.contains(">lowest: ") && page.contains(">median<"));
    assert!(!page.contains(">flow 17</text>"));
    assert!(!html(&fixture::square()).contains("Show one flow"));
}

#[test]
fn words_are_explained_where_they_are_used_and_at_the_end() {
    let page = html(&fixture::rrul());
    for id in ["pfifo", "codel", "fq_codel", "ef", "bk", "rise", "grade", "goodput", "percentile"] {
        assert!(page.contains(&format!("href=\"#w-{id}\"")), "{id} is not linked");
    }
    let wifi = html(&fixture::wifi::anomaly());
    assert!(
        wifi.contains("id=\"w-mpdu\"") && wifi.contains("href=\"#w-mpdu\"") && wifi.contains("id=\"w-txq\"")
    );
    for page in [page, wifi, html(&fixture::beside())] {
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
    }
}

#[test]
fn every_grade_has_a_colour_of_its_own() {
    let page = html(&fixture::ping());
    for theme in page.split(":root").filter(|part| part.contains("--ga1:")) {
        let colour =
            |name: &str| theme.split(&format!("--{name}:")).nth(1).unwrap().split(';').next().unwrap();
        let mut all = ["ga1", "ga", "gb", "gc", "gd", "gf"].map(colour).to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}

#[test]
fn runs_of_several_records_differ_by_their_dashes() {
    let mut record = fixture::square();
    record.title = "near, far".into();
    for (run, label) in record.runs.iter_mut().zip(["near", "far", "far"]) {
        run.queue = format!("{label}: {}", run.queue);
    }
    let page = html(&record);
    assert!(page.contains("Lines: near solid, far dashed."));
    let start = page.find("data-chart=\"cdf-round-trip-log\"").unwrap();
    let chart = &page[start..start + page[start..].find("</svg>").unwrap()];
    let dashes: Vec<&str> = chart.split("class=\"line ").skip(1).map(|line| &line[..5]).collect();
    assert_eq!(dashes, ["q0 d0", "q1 d1", "q2 d1"]);
    record.title.clear();
    assert!(!html(&record).contains("Lines: "));
}

/// A record of a release that did not ask senders for their rates, nor whether ECN was negotiated.
#[test]
fn an_older_record_has_no_rates_and_is_read() {
    let mut record = fixture::rrul_of(10);
    record.runs[0].flows[0].ecn = Some(true);
    let mut older = serde_json::to_value(&record).unwrap();
    for run in older["runs"].as_array_mut().unwrap() {
        for flow in run["flows"].as_array_mut().unwrap() {
            let columns = flow.as_object_mut().unwrap();
            for key in ["pacing_bps", "delivery_bps", "app_limited", "ecn"] {
                columns.remove(key);
            }
        }
    }
    let read: Record = serde_json::from_value(older).unwrap();
    for flow in record.runs.iter_mut().flat_map(|run| &mut run.flows) {
        assert!(!flow.pacing_bps.is_empty() && !flow.delivery_bps.is_empty());
        (flow.pacing_bps, flow.delivery_bps, flow.ecn) = (Vec::new(), Vec::new(), None);
    }
    assert!(read == record, "only the rates and ECN are missing");
    let page = html(&read);
    assert!(page.contains("<td>–</td>"), "what is not known is a dash");
}
