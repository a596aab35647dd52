//! ECN negotiation by SYN and SYN-ACK: RFC 3168 section 6.1.1, and RFC 9768 section 3.1.1 for accurate
//! feedback. Neither of them is ECN-capable itself.

use super::segment::{Flags, Header};

/// ACE of a SYN that asks for accurate feedback: AE, CWR and ECE.
const ASKS: u8 = 0b111;
/// ACE of a SYN-ACK that grants it, to a SYN that was not ECN-capable.
const GRANTS: u8 = 0b010;

/// A SYN asks.
pub(super) fn ask(syn: &mut Header, ecn: bool, accurate: bool) {
    if accurate {
        syn.set_ace(ASKS);
    } else if ecn {
        syn.flags = syn.flags.with(Flags::ECE).with(Flags::CWR);
    }
}

/// Whether the receiver of a SYN agrees to ECN, and to accurate feedback.
pub(super) fn asked(syn: &Header, ecn: bool, accurate: bool) -> (bool, bool) {
    let accurate = accurate && syn.ace() == ASKS;
    (accurate || (ecn && syn.flags.has(Flags::ECE.with(Flags::CWR))), accurate)
}

/// A SYN-ACK grants what was agreed on.
pub(super) fn grant(syn_ack: &mut Header, ecn: bool, accurate: bool) {
    if accurate {
        syn_ack.set_ace(GRANTS);
    } else if ecn {
        syn_ack.flags = syn_ack.flags.with(Flags::ECE);
    }
}

/// The same for the receiver of a SYN-ACK.
pub(super) fn granted(syn_ack: &Header, ecn: bool, accurate: bool) -> (bool, bool) {
    let accurate = accurate && syn_ack.ace() == GRANTS;
    (accurate || (ecn && syn_ack.ace() & 0b011 == 0b001), accurate)
}
