//! The library from C: compiled with the available compilers, run plainly, under valgrind and with
//! sanitizers, and compared with the decisions of the Rust library.

mod docs;
mod examples;
#[path = "../../examples/header.rs"]
mod header;
mod install;
mod programs;
mod random;
mod random_wifi;
mod tools;

#[test]
fn the_header_in_the_tree_is_the_one_made_of_the_sources() {
    let path = tools::folder().join("include/goodqueue.h");
    let found = std::fs::read_to_string(path).expect("the header");
    assert_eq!(found, header::header(), "cargo run -p goodqueue-capi --example header > include/goodqueue.h");
}
