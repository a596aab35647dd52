//! The native half of the Python package `goodqueue`: queues, simulations, records, tables. The Python half,
//! `goodqueue/`, has the functions that people call, pictures and HTML.

mod asked;
mod cc;
mod check;
mod errors;
mod gym;
mod live;
mod own;
mod packet;
mod queue;
mod record;
mod sweep;
mod table;
mod topology;
mod vectors;

/// The queue algorithms, the simulator and the records of Goodqueue.
#[pyo3::pymodule]
mod _goodqueue {
    #[pymodule_export]
    use super::asked::{Asked, keys, lines, queues, schema, tests};
    #[pymodule_export]
    use super::cc::{PyAck, PyWindow, check_cc_class, check_cc_words};
    #[pymodule_export]
    use super::check::{check_class, check_words};
    #[pymodule_export]
    use super::gym::Gym;
    #[pymodule_export]
    use super::live::live_worker;
    #[pymodule_export]
    use super::packet::Packet;
    #[pymodule_export]
    use super::queue::Queue;
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::sweep::{PyStudy, sweep_speed};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::topology::{shape, simulate_network};
    #[pymodule_export]
    use super::vectors::read_vectors;

    /// The version of the crates inside.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
