//! The catalogue of queues. The name, description and parameters of each are declared in its own folder.

use super::parameter::{Parameter, Parameters, Properties};
use super::value::Unit;
use crate::queues::queues;

/// One queue of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Which queue.
    pub kind: QueueKind,
    /// Its name; that of tc if tc has the queue.
    pub name: &'static str,
    /// A description in one line.
    pub doc: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Whether the first parameter may be written `name:value`.
    pub positional: bool,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

impl QueueInfo {
    /// Whether it has classes with a queue that can be chosen.
    #[must_use]
    pub fn has_leaves(&self) -> bool {
        self.leaf().is_some()
    }

    /// The parameter for the queue of its classes.
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

/// Declares the catalogue, its kinds and their parameters.
macro_rules! catalogue {
    (
        $fifo:ident: $fifo_queue:ty { $($(#[$name_doc:meta])+ $name:ident: $name_params:ty;)+ }
        $($(#[$doc:meta])+ $kind:ident: $queue:ty, $params:ty;)+
    ) => {
        catalogue! { @ $($(#[$name_doc])+ $name: $name_params;)+ $($(#[$doc])+ $kind: $params;)+ }
    };
    (@ $($(#[$doc:meta])+ $kind:ident: $params:ty;)+) => {
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

        /// All queues, in the order in which they are listed.
        pub const CATALOGUE: [QueueInfo; [$(QueueKind::$kind),+].len()] =
            [$(QueueInfo::of::<$params>(QueueKind::$kind)),+];

        impl QueueParams {
            /// The parameters of this kind of queue at their defaults; required parameters are 0.
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

            /// The queue's properties that follow from the parameters.
            #[must_use]
            pub fn properties(&self) -> &dyn Properties {
                match self {
                    $(QueueParams::$kind(params) => params,)+
                }
            }

            pub(super) fn properties_mut(&mut self) -> &mut dyn Properties {
                match self {
                    $(QueueParams::$kind(params) => params,)+
                }
            }
        }
    };
}

queues! { catalogue }

impl QueueKind {
    /// The queue's entry in the catalogue.
    #[must_use]
    pub const fn info(self) -> &'static QueueInfo {
        const LIST: &[QueueInfo] = &CATALOGUE;
        &LIST[self as usize]
    }
}
