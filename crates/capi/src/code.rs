//! Negative error codes and their texts.

use core::ffi::CStr;

use goodqueue::spec::{BuildError, Fault};

/// A negative code. The numbers are `GQ_E...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal, $text:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $name: Code = Code($value);)+
        /// Every code with its text.
        pub(crate) const CODES: &[(Code, &CStr)] = &[$(($name, $text)),+];
    };
}

codes! {
    /// A pointer is null.
    GQ_ENULL = -1, c"a pointer is null";
    /// A pointer is not aligned for its type, or memory for a queue is not aligned to `GQ_ALIGN`.
    GQ_EALIGN = -2, c"a pointer is not aligned";
    /// The size field of a struct is not set, or below the first version's.
    GQ_ESIZE = -3, c"the size field of a struct is not set";
    /// The memory is too small.
    GQ_EMEMORY = -4, c"the memory is too small";
    /// The handle does not belong to a queue that was set up, or the queue was moved.
    GQ_EHANDLE = -5, c"not set up, or moved since";
    /// The time is before that of an earlier call.
    GQ_ETIME = -6, c"the time is before that of an earlier call";
    /// The length of a packet is 0 or above `GQ_MAX_LEN`, or its truesize below its length.
    GQ_EPACKET = -7, c"a packet's length is out of range or its truesize below its length";
    /// Dropped packets must be taken first; otherwise a handle could be lost.
    GQ_EDROPS = -8, c"dropped packets must be taken first";
    /// Unknown kind of queue, or a different kind from the one that was set up.
    GQ_EKIND = -9, c"no such kind of queue here";
    /// The queue has no such parameter.
    GQ_EPARAM = -10, c"the queue has no such parameter";
    /// A value is malformed or out of range.
    GQ_EVALUE = -11, c"a value cannot be read or is out of range";
    /// A parameter that has no default is not given.
    GQ_EMISSING = -12, c"a parameter without a default is not given";
    /// A parameter is given twice.
    GQ_ETWICE = -13, c"a parameter is given twice";
    /// The parameters do not go together.
    GQ_ECONFLICT = -14, c"the parameters do not go together";
    /// The link sends less than one packet in the time given as the queue's limit.
    GQ_EROOM = -15, c"the queue could hold no packet at this rate";
    /// The text is not UTF-8 or longer than 4095 bytes.
    GQ_ETEXT = -16, c"the text is not UTF-8 or too long";
    /// More packets were completed than sent. The ring is assumed to be empty.
    GQ_EOVER = -17, c"more packets completed than sent";
    /// The bytes completed are not the bytes sent: padding or FCS was counted on one side only. The count is
    /// corrected as far as possible.
    GQ_EMISMATCH = -18, c"bytes completed are not the bytes sent";
    /// The number of packets in the ring differs from the reports: a reset, a completion or a sent packet was
    /// missed. The limit is reset.
    GQ_ERING = -19, c"the ring holds other packets than were reported";
    /// No such station, interface or queue of the radio.
    GQ_ESTATION = -20, c"no such station, interface or queue";
    /// The station exists already.
    GQ_EEXISTS = -21, c"the station is there already";
    /// This kind of queue cannot be reconfigured: set up another one.
    GQ_EFIXED = -22, c"this kind of queue cannot be changed after set-up";
}

/// The text for a code, also for unknown codes.
pub(crate) fn text(code: i32) -> &'static CStr {
    if code >= 0 {
        return c"no error";
    }
    CODES.iter().find(|(known, _)| known.0 == code).map_or(c"an unknown error code", |&(_, text)| text)
}

impl From<Fault<'_>> for Code {
    fn from(fault: Fault<'_>) -> Code {
        match fault {
            Fault::Empty | Fault::UnknownQueue { .. } => GQ_EKIND,
            Fault::UnknownParameter { .. } | Fault::NoShortForm { .. } | Fault::NotAParameter { .. } => {
                GQ_EPARAM
            }
            Fault::Twice { .. } => GQ_ETWICE,
            Fault::Missing { .. } => GQ_EMISSING,
            Fault::Conflict { .. } => GQ_ECONFLICT,
            _ => GQ_EVALUE,
        }
    }
}

impl From<BuildError> for Code {
    fn from(error: BuildError) -> Code {
        match error {
            BuildError::NoRoom { .. } => GQ_EROOM,
            BuildError::NoPlace => GQ_EMEMORY,
            BuildError::Fixed => GQ_EFIXED,
            BuildError::Tbf(_) | BuildError::Red(_) | BuildError::Htb(_) => GQ_ECONFLICT,
            _ => GQ_EVALUE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_down_from_minus_one_and_have_different_texts() {
        let mut texts = std::collections::BTreeSet::new();
        for (at, (code, words)) in (1..).zip(CODES) {
            assert_eq!(code.0, -at);
            assert_eq!(text(code.0), *words);
            assert!(texts.insert(words));
        }
        assert_eq!((text(0), text(7)), (c"no error", c"no error"));
        assert_eq!(text(i32::MIN), c"an unknown error code");
    }
}
