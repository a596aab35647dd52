//! The list of queues. Everything that has to know all of them is generated from it: the catalogue with its
//! kinds and parameters (`spec/catalogue.rs`), and [`crate::AnyQueue`] with the code that builds and
//! configures it (`any.rs`).

/// Gives the list to the macro `$take`: for each queue its name in [`crate::spec::QueueKind`],
/// [`crate::spec::QueueParams`] and [`crate::AnyQueue`], its type for packets `P` in the storage `M`, and the
/// type of its parameters. The first entry is one type of queue under several names. `AnyQueue` holds that
/// type directly, and each of the others in a separate allocation.
macro_rules! queues {
    ($take:ident) => {
        $take! {
            Fifo: $crate::Fifo<P, M> {
                /// First in, first out, limited in packets.
                Pfifo: $crate::fifo::PfifoParams;
                /// First in, first out, limited in bytes.
                Bfifo: $crate::fifo::BfifoParams;
                /// `bfifo` whose limit is the number of bytes that the link sends in a given time.
                Fifo: $crate::fifo::FifoParams;
            }
            /// One queue under `CoDel`.
            Codel: $crate::Codel<P, M>, $crate::codel::Params;
            /// Fair queueing with `CoDel` in every bucket.
            FqCodel: $crate::FqCodel<P, M>, $crate::fq_codel::Params;
            /// One queue under PIE.
            Pie: $crate::Pie<P, M>, $crate::pie::Params;
            /// Fair queueing with PIE in every bucket.
            FqPie: $crate::FqPie<P, M>, $crate::fq_pie::Params;
            /// Two queues, one for L4S, with one controller.
            DualPi2: $crate::DualPi2<P, M>, $crate::dualpi2::Params;
            /// Stochastic fair queueing.
            Sfq: $crate::Sfq<P, M>, $crate::sfq::Params;
            /// A queue per flow with pacing.
            Fq: $crate::Fq<P, M>, $crate::fq::Params;
            /// A timing wheel: packets leave at the times that the host has stamped on them.
            Wheel: $crate::Wheel<P, M>, $crate::wheel::Params;
            /// One queue under RED.
            Red: $crate::Red<P, M>, $crate::red::Params;
            /// Three bands by priority.
            PfifoFast: $crate::Prio<P, $crate::Fifo<P, M>, M>, $crate::prio::PfifoFastParams;
            /// Bands by priority, each with a queue.
            Prio: $crate::Prio<P, AnyQueue<P, M>, M>, $crate::prio::Params;
            /// Classes served in turn, each with a queue.
            Drr: $crate::Drr<P, AnyQueue<P, M>, M>, $crate::drr::Params;
            /// A tree of classes with rates, each leaf with a queue.
            Htb: $crate::Htb<P, AnyQueue<P, M>, M>, $crate::htb::Params;
            /// A token bucket over `bfifo`.
            Tbf: $crate::Tbf<P, M>, $crate::tbf::Params;
            /// Fair queueing among hosts and flows, with classes and a shaper.
            Cake: $crate::Cake<P, M>, $crate::cake::Params;
            /// Several instances of `cake` that share one rate.
            CakeMq: $crate::CakeMq<P, M>, $crate::cake::MqParams;
        }
    };
}
pub(crate) use queues;
