//! How `cake` and `cake_mq` are built from their parameters.

use super::{Cake, CakeMq, Child, InForce, Instance, MqParams, Params, Queued, Tables};
use crate::arena::Slot;
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link};
use crate::{Configurable, Lcg, Packet, Queue};

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Cake<P, M>;
    type InForce = InForce;

    fn in_force(&self, link: Link) -> Result<InForce, BuildError> {
        Ok(self.on_link(link))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(Lcg, Tables<R::Memory>, <R::Memory as Memory>::Of<Slot<Queued<P>>>), R::Error> {
        let tables = Tables::new(room, self.diffserv.tins(), self.flows)?;
        Ok((context.draws.into(), tables, room.packets(context.places)?))
    }
}

impl Build for MqParams {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = CakeMq<P, M>;
    type InForce = InForce;

    fn in_force(&self, link: Link) -> Result<InForce, BuildError> {
        Ok(self.instance().on_link(link))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Child<Instance<P, R::Memory>>>, R::Error> {
        let (instance, count) = (self.instance(), u64::from(self.queues));
        let mut context = BuildContext { places: context.places / count, ..context };
        room.admit(count, context.places)?;
        room.classes(count, |room| {
            // The first instance draws the numbers that a `cake` would draw.
            let draws = context.draws.clone().into();
            context.draws.next_u64();
            let tables = Tables::new(room, self.diffserv.tins(), self.flows)?;
            let slots = room.packets(context.places)?;
            let cake =
                Cake::new(context.now, instance.on_link(context.link), context.link, (draws, tables, slots))?;
            Ok(Child::new(Instance::new(cake)))
        })
    }
}
