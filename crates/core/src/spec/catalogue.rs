//! The list of queues. What each one is called, what it does and which parameters it has is declared in its
//! own folder.

use super::parameter::{Discipline, Parameter, Parameters};
use super::value::Unit;
use crate::{cake, codel, drr, dualpi2, fifo, fq, fq_codel, fq_pie, htb, pie, prio, red, sfq, tbf, wheel};

/// One queue of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Which queue.
    pub kind: QueueKind,
    /// Its name, tc's word where tc has it.
    pub name: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Whether the first parameter may be written `name:value`.
    pub positional: bool,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

impl QueueInfo {
    /// Whether it has classes whose queue can be chosen.
    #[must_use]
    pub fn has_leaves(&self) -> bool {
        self.leaf().is_some()
    }

    /// The parameter that is the queue of its classes.
    pub(super) fn leaf(&self) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.unit == Unit::Queue)
    }

    const fn of<T: Parameters>(kind: QueueKind) -> QueueInfo {
        QueueInfo {
            kind,
            name: T::NAME,
            doc: T::DOC,
            source: T::SOURCE,
            positional: T::POSITIONAL,
            parameters: T::LIST,
        }
    }
}

macro_rules! queues {
    ($($(#[$doc:meta])+ $kind:ident: $params:ty;)+) => {
        /// Which queue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum QueueKind {
            $($(#[$doc])+ $kind,)+
        }

        /// The parameters of one of the queues.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum QueueParams {
            $($(#[$doc])+ $kind($params),)+
        }

        /// Every queue there is, in the order in which it is listed.
        pub const CATALOGUE: [QueueInfo; [$(QueueKind::$kind),+].len()] =
            [$(QueueInfo::of::<$params>(QueueKind::$kind)),+];

        impl QueueParams {
            /// Every parameter of this kind of queue at its default; those that must be given at 0.
            pub(super) const fn new(kind: QueueKind) -> QueueParams {
                match kind {
                    $(QueueKind::$kind => QueueParams::$kind(<$params as Parameters>::DEFAULT),)+
                }
            }

            /// Which queue.
            #[must_use]
            pub const fn kind(&self) -> QueueKind {
                match self {
                    $(QueueParams::$kind(_) => QueueKind::$kind,)+
                }
            }

            /// What the parameters say about the queue.
            #[must_use]
            pub fn discipline(&self) -> &dyn Discipline {
                match self {
                    $(QueueParams::$kind(params) => params,)+
                }
            }

            pub(super) fn discipline_mut(&mut self) -> &mut dyn Discipline {
                match self {
                    $(QueueParams::$kind(params) => params,)+
                }
            }
        }
    };
}

queues! {
    /// First in, first out, limited in packets.
    Pfifo: fifo::PfifoParams;
    /// First in, first out, limited in bytes.
    Bfifo: fifo::BfifoParams;
    /// `bfifo` whose limit is what the link sends in a given time.
    Fifo: fifo::FifoParams;
    /// One queue under `CoDel`.
    Codel: codel::Params;
    /// Fair queueing with `CoDel` in every bucket.
    FqCodel: fq_codel::Params;
    /// One queue under PIE.
    Pie: pie::Params;
    /// Fair queueing with PIE in every bucket.
    FqPie: fq_pie::Params;
    /// Two queues, one for L4S, with one controller.
    DualPi2: dualpi2::Params;
    /// Stochastic fair queueing.
    Sfq: sfq::Setup;
    /// A queue per flow with pacing.
    Fq: fq::Params;
    /// A timing wheel: packets leave at the times that the host has stamped them with.
    Wheel: wheel::Params;
    /// One queue under RED.
    Red: red::Setup;
    /// Three bands by priority.
    PfifoFast: prio::PfifoFastParams;
    /// Bands by priority, each a queue.
    Prio: prio::Params;
    /// Classes in turn, each a queue.
    Drr: drr::Params;
    /// A tree of classes with rates, each a queue.
    Htb: htb::Params;
    /// A token bucket over `bfifo`.
    Tbf: tbf::Params;
    /// Fair queueing among hosts and flows, with classes and a shaper.
    Cake: cake::Setup;
}

impl QueueKind {
    /// The queue's entry in the catalogue.
    #[must_use]
    pub const fn info(self) -> &'static QueueInfo {
        const LIST: &[QueueInfo] = &CATALOGUE;
        &LIST[self as usize]
    }
}
