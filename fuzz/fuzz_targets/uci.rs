//! Configurations of sqm-scripts: no text makes the reader panic, and what it reads makes a plan or an error.
#![no_main]

use goodqueue_router::sqm;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok((sections, _)) = sqm::read_uci(text, "sqm") else { return };
    for section in sections {
        let interface = goodqueue_wire::netlink::Interface {
            index: 1,
            name: section.settings.interface.clone(),
            kind: None,
            alias: None,
            is_up: true,
            is_loopback: false,
            header: 14,
            mtu: 1500,
            tx_queues: 1,
            tx_queue_len: 1000,
        };
        let _ = sqm::plan(&section.settings, &interface).map(|plan| plan.to_string());
    }
});
