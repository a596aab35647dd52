//! The nearest valid word for a wrong one.

/// `; did you mean fq_codel?`, or nothing if no candidate is near. It ends a message: nothing follows a
/// question.
#[must_use]
pub fn did_you_mean<S: AsRef<str>>(word: &str, candidates: &[S]) -> String {
    let distance = |candidate: &S| strsim::damerau_levenshtein(word, candidate.as_ref());
    let nearest = candidates.iter().min_by_key(|candidate| distance(candidate));
    match nearest {
        Some(found) if distance(found) <= 1 + word.chars().count() / 3 => {
            format!("; did you mean {}?", found.as_ref())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        let queues = ["pfifo", "codel", "fq_codel"];
        assert_eq!(did_you_mean("fqcodel", &queues), "; did you mean fq_codel?");
        assert_eq!(did_you_mean("weather", &queues), "");
    }
}
