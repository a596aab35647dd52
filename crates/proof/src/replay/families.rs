//! The queues that can be replayed.

use super::format::{Input, Vector};
use super::subject::{Setup, Subject};
use super::{Fault, codel, dql, fq, fq_pie, pie, sfq, tbf};

/// A kind of queue that can be replayed. To add one: a [`Subject`], and a line in [`FAMILIES`].
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) make: fn(&Setup<'_>) -> Result<Box<dyn Subject>, Fault>,
}

/// Every queue that can be replayed.
pub(super) const FAMILIES: [Family; 8] = [
    Family { name: "codel", make: codel::codel },
    Family { name: "fq_codel", make: codel::fq_codel },
    Family { name: "pie", make: pie::pie },
    Family { name: "fq_pie", make: fq_pie::fq_pie },
    Family { name: "sfq", make: sfq::sfq },
    Family { name: "fq", make: fq::fq },
    Family { name: "tbf", make: tbf::tbf },
    Family { name: "dql", make: dql::dql },
];

/// The queue that the header names, ready for the first record.
pub(super) fn make(vector: &Vector<'_>) -> Result<Box<dyn Subject>, Fault> {
    let header = &vector.header;
    let steps = vector.steps.iter();
    let arrivals = steps.filter(|step| matches!(step.input, Some(Input::Enqueue(_)))).count();
    let draws = vector.steps.first().map_or(&[][..], |setup| &setup.draws);
    let family = FAMILIES.iter().find(|family| family.name == header.queue);
    let family = family
        .ok_or_else(|| Fault::UnknownQueue { line: header.queue_line, queue: header.queue.to_string() })?;
    (family.make)(&Setup { header, draws, arrivals })
}
