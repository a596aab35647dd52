//! goodqueue
fn main() {}
