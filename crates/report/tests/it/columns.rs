//! `docs/data.md` names every table and every column of a result folder, and no other.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_report::{MISSING, Record, TrafficPlan, TransferSeries, write_all, write_as};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data.md");

/// Records that together have every table.
fn records() -> [(&'static str, Record); 2] {
    let mut talking = fixture::applications::talking();
    talking.test.traffic = vec![TrafficPlan { name: "web".into(), ..TrafficPlan::default() }];
    let series = TransferSeries {
        start_ns: vec![0, 3_000_000_000],
        bytes: vec![1000, 20_000_000],
        took_ns: vec![5_000_000, MISSING],
        ideal_ns: vec![4_000_000, 9_000_000],
    };
    talking.runs.iter_mut().for_each(|run| run.traffic = vec![series.clone()]);
    [("talking", talking), ("wifi", fixture::wifi::anomaly())]
}

/// The words in backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of those tables of the page whose heading begins with this.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_page_has_the_columns_of_every_csv_file() {
    let mut written: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, record) in records() {
        let dir = std::env::temp_dir().join(format!("goodqueue-columns-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        write_all(&record, &dir).unwrap();
        for file in std::fs::read_dir(dir.join("csv")).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let columns = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            written.insert(name, columns);
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
    let page: BTreeMap<String, Vec<String>> =
        table("| File in `csv/`").iter().map(|row| (quoted(&row[0])[0].clone(), quoted(&row[2]))).collect();
    assert_eq!(page, written);
}

#[test]
fn the_page_has_the_columns_kinds_and_metrics_of_the_long_table() {
    let mut written: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut columns = Vec::new();
    for (name, record) in records() {
        let file = std::env::temp_dir().join(format!("goodqueue-columns-{}-{name}.csv", std::process::id()));
        let _ = std::fs::remove_file(&file);
        write_as(&record, &file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        columns = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
        for line in text.lines().skip(1) {
            // No name in these records has a comma.
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            written.entry(cells[3].to_owned()).or_default().insert(cells[7].to_owned());
        }
    }
    let page: Vec<String> = table("| Column").iter().map(|row| quoted(&row[0])[0].clone()).collect();
    assert_eq!(page, columns);
    let is_metric = |word: &String| !columns.contains(word) && !word.contains(' ');
    let page: BTreeMap<String, BTreeSet<String>> = table("| `kind` | Its")
        .iter()
        .map(|row| (quoted(&row[0])[0].clone(), quoted(&row[1]).into_iter().filter(is_metric).collect()))
        .collect();
    assert_eq!(page, written);
}

#[test]
fn a_queue_that_was_not_measured_is_in_the_long_table() {
    let record = fixture::applications::talking();
    let file = std::env::temp_dir().join(format!("goodqueue-columns-{}-missing.csv", std::process::id()));
    let _ = std::fs::remove_file(&file);
    write_as(&record, &file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let complete: Vec<&str> = text.lines().filter(|line| line.contains(",complete,")).collect();
    assert_eq!(complete.len(), record.runs.len() + 1);
    assert_eq!(complete[0], "0,pfifo:1000,42,run,,,,complete,1,1");
    assert_eq!(*complete.last().unwrap(), format!("{},cake,42,run,,,,complete,,1", record.runs.len()));
}
