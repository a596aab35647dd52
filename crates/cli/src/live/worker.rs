//! The child of the live arm: makes the namespaces, runs engine, load and probes in them, and tells the
//! parent everything as it happens.
