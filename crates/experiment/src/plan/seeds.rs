//! `--seeds`: the number of repetitions, or their seeds.

use std::str::FromStr;

use crate::Error;
use crate::Request;
use crate::text::keys::MOST_REPETITIONS;

/// The requested seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// This many consecutive seeds from the first.
    Count(u64),
    /// These.
    List(Vec<u64>),
}

impl Seeds {
    /// The value of `--seeds`.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is neither a number, a range nor a list, or if it conflicts with `--seed`
    /// because both name the seeds.
    pub(crate) fn of(args: &Request) -> Result<Seeds, Error> {
        let Some(text) = &args.seeds else { return Ok(Seeds::Count(1)) };
        let seeds = text.parse().map_err(|why| Error::Usage(format!("--seeds {text}: {why}")))?;
        match (&seeds, args.seed) {
            (Seeds::List(_), Some(seed)) => {
                let why = "the list names the seeds already; leave --seed out";
                Err(Error::Usage(format!("--seeds {text} --seed {seed}: {why}")))
            }
            _ => Ok(seeds),
        }
    }

    /// The seeds themselves; if only their number is given, the first is `first`.
    ///
    /// # Errors
    /// [`Error::Usage`] if they go beyond the largest number.
    pub(crate) fn list(&self, first: u64) -> Result<Vec<u64>, Error> {
        match self {
            Seeds::List(list) => Ok(list.clone()),
            Seeds::Count(count) => match first.checked_add(*count) {
                Some(end) => Ok((first..end).collect()),
                None => Err(Error::Usage(format!("--seed {first}: no {count} seeds follow on it"))),
            },
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let cure = "write how many (5), a range (3..7) or a list (1,5,9)";
        let number = |word: &str| word.trim().parse::<u64>().map_err(|_| cure.to_owned());
        let in_range = |count: u64| {
            let is_right = (1..=MOST_REPETITIONS).contains(&count);
            if is_right { Ok(count) } else { Err(format!("there are 1 to {MOST_REPETITIONS} repetitions")) }
        };
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (number(first)?, number(last)?);
            in_range(last.saturating_sub(first).saturating_add(u64::from(last >= first)))?;
            return Ok(Seeds::List((first..=last).collect()));
        }
        if !text.contains(',') {
            return in_range(number(text)?).map(Seeds::Count);
        }
        let list = text.split(',').map(number).collect::<Result<Vec<u64>, _>>()?;
        in_range(list.len() as u64)?;
        match (1..list.len()).find(|&at| list[..at].contains(&list[at])) {
            Some(at) => Err(format!("seed {} is named twice: it would give the same run", list[at])),
            None => Ok(Seeds::List(list)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_and_a_range_or_list_names() {
        let list = |text: &str, first| text.parse::<Seeds>().expect("seeds").list(first).map_err(|_| ());
        assert_eq!(list("3", 7), Ok(vec![7, 8, 9]));
        assert_eq!(list("3..5", 7), Ok(vec![3, 4, 5]));
        assert_eq!(list("4,1", 7), Ok(vec![4, 1]));
        assert_eq!(list("2", u64::MAX), Err(()));
        for wrong in ["", "0", "1001", "5..3", "1,1", "x", "1..", "1,", "0..18446744073709551615"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
    }
}
