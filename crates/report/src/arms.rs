//! What is compared: a line for each kind.

use crate::record::Record;

/// A kind of queue that is compared, with a line about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// What the names of its runs have in common.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Number of its colour in the picture, if it has one of its own.
    pub colour: Option<usize>,
}

impl Record {
    /// The lines about the queues of these names, in this order. Queues with the same line are one arm, as
    /// those that differ in the rate of the link alone. If no two have, each arm has the colour of its place.
    ///
    /// ```
    /// use goodqueue_report::Record;
    ///
    /// let lines = [("10 ms, codel", "one queue"), ("50 ms, codel", "one queue")];
    /// let about = lines.map(|(name, line)| (name.to_owned(), line.to_owned())).into();
    /// let arms = Record { about, ..Record::default() }.arms(&["10 ms, codel", "50 ms, codel", "pie"]);
    /// assert_eq!((arms.len(), arms[0].name.as_str(), arms[0].colour), (1, "codel", None));
    /// ```
    #[must_use]
    pub fn arms(&self, names: &[&str]) -> Vec<Arm> {
        let mut kinds: Vec<(&str, Vec<usize>)> = Vec::new();
        for (place, &name) in names.iter().enumerate() {
            let Some(about) = self.about.get(name) else { continue };
            match kinds.iter_mut().find(|kind| kind.0 == about) {
                Some((_, places)) => places.push(place),
                None => kinds.push((about, vec![place])),
            }
        }
        let is_one_each = kinds.iter().all(|(_, places)| places.len() == 1);
        let arm = |(about, places): (&str, Vec<usize>)| {
            let all: Vec<&str> = places.iter().map(|&place| names[place]).collect();
            let colour = places.first().copied().filter(|_| is_one_each);
            Arm { name: common(&all), about: about.to_owned(), colour }
        };
        kinds.into_iter().map(arm).collect()
    }

    /// The arms of all runs.
    pub(crate) fn all_arms(&self) -> Vec<Arm> {
        let names: Vec<&str> = self.runs.iter().map(|run| run.queue.as_str()).collect();
        self.arms(&names)
    }
}

/// The parts between commas that all names have; if there is none, the first and the last name.
fn common(names: &[&str]) -> String {
    let [first, others @ ..] = names else { return String::new() };
    let is_shared = |part: &&str| others.iter().all(|name| name.split(", ").any(|other| other == *part));
    let shared: Vec<&str> = first.split(", ").filter(is_shared).collect();
    match (&shared[..], others) {
        ([], [last]) => format!("{first} and {last}"),
        ([], [.., last]) => format!("{first} to {last}"),
        _ => shared.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::common;
    use crate::Record;

    #[test]
    fn colours_are_those_of_queues_or_of_none() {
        let lines = [("a", "x"), ("b, far", "y"), ("b", "y")];
        let about = lines.map(|(name, line)| (name.to_owned(), line.to_owned())).into();
        let record = Record { about, ..Record::default() };
        let colours = |names: &[&str]| record.arms(names).iter().map(|arm| arm.colour).collect::<Vec<_>>();
        assert_eq!(colours(&["a", "b"]), [Some(0), Some(1)]);
        assert_eq!(colours(&["a", "b, far", "b"]), [None, None]);
    }

    #[test]
    fn an_arm_has_what_its_names_share() {
        assert_eq!(common(&["fq_codel"]), "fq_codel");
        assert_eq!(common(&["12 ms, cake besteffort", "48 ms, cake besteffort"]), "cake besteffort");
        assert_eq!(common(&["FQ-MAC", "FQ-MAC, 25 dB"]), "FQ-MAC");
        assert_eq!(common(&["10 ms", "30 ms"]), "10 ms and 30 ms");
        assert_eq!(common(&["10 ms", "30 ms", "60 ms"]), "10 ms to 60 ms");
    }
}
