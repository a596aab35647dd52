//! Shapes an interface in both directions below the rate of the link behind it, with the kernel's own
//! queueing disciplines and in the layouts of sqm-scripts, so that the queue is here and not in the modem.
//! [`plan`] decides which changes this needs; [`start`] makes them and saves the previous state to a file;
//! [`stop`] restores it.

mod apply;
mod layout;
mod link;
mod plan;
mod state;
mod uci;

pub(crate) use apply::follow;
pub use apply::{Outcome, Status, find, start, status, stop};
pub use layout::Layout;
pub use link::LinkWords;
pub(crate) use plan::HANDLE;
pub use plan::{Both, Plan, Queues, Settings, Shaper, has_cake_mq, plan, without_cake_mq};
pub use uci::{Section, read as read_uci};
