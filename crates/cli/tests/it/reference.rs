//! The whole command with the simulator's plain implementations gives the same figures
//! (`docs/parallel-paths.md`).

use super::{Scratch, goodqueue, stderr, stdout};

/// Truth cases with each kind of bottleneck, offload and both directions.
const CASES: [&str; 5] = [
    "m10-r50-1cubic-pfifo100",
    "m10-r10-16cubic-codel-ecn",
    "m10-r50-4cubic1bbr-fqcodel",
    "rrul-m10d10-r50-cake",
    "m20-r10-1cubic-fqcodel-offload",
];

/// What the command prints with the fast implementations, and with the plain ones.
fn both(words: &[&str]) -> [String; 2] {
    ["0", "1"].map(|value| {
        let output =
            goodqueue().env("GOODQUEUE_REFERENCE", value).args(words).output().expect("the command starts");
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        stdout(&output)
    })
}

#[test]
fn truth_cases_have_the_same_figures_with_the_plain_implementations() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/truth");
    let mut words = vec!["truth", folder, "--json", "--quiet"];
    words.extend(CASES.iter().flat_map(|case| ["--case", case]));
    let [fast, plain] = both(&words);
    assert!(fast.contains("\"within\": 5"), "{fast}");
    assert_eq!(fast, plain);
}

/// The page without its trace hashes, which cover every event.
fn without_hashes(page: &str) -> String {
    let is_hash = |word: &&str| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = page.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !is_hash(&word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))).collect()
}

/// The trace hash covers every event. The plain implementations have more events, so it differs: that shows
/// that the switch works.
#[test]
fn a_reproduction_has_the_same_page_with_the_plain_implementations() {
    let scratch = Scratch::new("reference");
    let pages = ["0", "1"].map(|value| {
        let folder = scratch.path(value);
        let output = goodqueue()
            .env("GOODQUEUE_REFERENCE", value)
            .args(["reproduce", "reno-codel", "--quiet", "-o"])
            .arg(&folder)
            .output()
            .expect("the command starts");
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read_to_string(folder.join("reno-codel.md")).expect("a page")
    });
    assert_ne!(pages[0], pages[1]);
    let [fast, plain] = pages.map(|page| without_hashes(&page));
    assert_eq!(fast, plain);
}
