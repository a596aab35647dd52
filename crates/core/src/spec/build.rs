//! How a queue is built and configured by name: what its folder declares in addition to its parameters.

use super::{BuildError, Link, QueueSpec};
use crate::memory::{Memory, Room};
use crate::{Configurable, Nanos, Owner, Packet, Queue, Rng};

/// A queue that can take other parameters by name while it runs.
pub trait Reconfigure<P: Packet> {
    /// Gives it the parameters of `spec` on a link, also in its classes, or none if it fails. It keeps its
    /// packets, except those that no longer fit, and its storage: for more packets than it was built for,
    /// there is no place.
    ///
    /// # Errors
    /// [`BuildError::Fixed`] if it cannot take them, and those of [`Configurable::configure`].
    fn reconfigure(
        &mut self,
        now: Nanos,
        spec: &QueueSpec,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        let _ = (now, spec, link, owner);
        Err(BuildError::Fixed)
    }
}

/// The parameters of a queue by name. They say which queue they are for and what it is made of.
pub(crate) trait Build: Copy {
    /// The queue for packets `P` in the storage `M`, with a queue `Q` in each of its classes if it has
    /// classes.
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory>: Configurable<P, Params = Self::InForce> + 'static;

    /// The parameters in the form that the queue takes.
    type InForce;

    /// Whether the queue's parameters cannot be changed, because they are spread over its classes.
    const IS_FIXED: bool = false;

    /// The parameters in force on a link.
    ///
    /// # Errors
    /// If there are none for this link.
    fn in_force(&self, link: Link) -> Result<Self::InForce, BuildError>;

    /// The storage, the random numbers and the classes of the queue.
    ///
    /// # Errors
    /// If the room has no storage for it.
    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<PartsOf<Self, P, Q, R::Memory>, R::Error>;
}

/// The storage, the random numbers and the classes of the queue with the parameters `B`.
type PartsOf<B, P, Q, M> = <<B as Build>::Queue<P, Q, M> as Configurable<P>>::Parts;

/// The function that builds the queue of a class.
type BuildClass<'a, Q, R> = dyn Fn(Rng, &mut R) -> Result<Q, <R as Room>::Error> + 'a;

/// The data available when a queue is built.
pub(crate) struct BuildContext<'a, Q, R: Room> {
    pub(crate) now: Nanos,
    pub(crate) link: Link,
    /// Number of packets for which the queue needs places ([`super::QueueSpec::places`]), in all its classes.
    pub(crate) places: u64,
    /// The same for the queue of each of its classes; 0 if it has no classes.
    pub(crate) places_of_class: u64,
    /// The queue's random numbers.
    pub(crate) draws: Rng,
    /// Builds the queue of a class with the random numbers given.
    pub(crate) build_class: &'a BuildClass<'a, Q, R>,
}

impl<Q, R: Room> BuildContext<'_, Q, R> {
    /// The queue of the next class, with its own random numbers.
    pub(crate) fn class(&mut self, room: &mut R) -> Result<Q, R::Error> {
        (self.build_class)(Rng::new(self.draws.next_u64()), room)
    }
}
