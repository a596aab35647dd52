//! The cost of a packet in `fq_codel`: time, by criterion. It is a rough guide on a shared machine; the count
//! of instructions (`cost`) is exact.

mod workload;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use workload::Load;

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fq_codel step");
    for step in [1000, 12_112] {
        for flows in [1, 100, 1000, 100_000] {
            let mut load = Load::new(workload::fq_codel(), 1001, flows, step);
            group.bench_function(format!("{flows} flows, STEP {step}"), |bencher| {
                bencher.iter(|| black_box(load.step()));
            });
            black_box(load.drops());
        }
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
