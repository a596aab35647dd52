#![no_main]
use std::fmt::{Debug, Display};
use std::str::FromStr;

use goodqueue_experiment::limit::Limit;
use goodqueue_experiment::{Asked, Plan, Request, read_any_rate, read_rate, read_time};
use goodqueue_path::fill::Fill;
use goodqueue_path::host::host_and_port;
use goodqueue_path::key::Key;
use goodqueue_probe::echo::wire::HMAC;
use goodqueue_probe::{Dscp, Extra, FlowCount, QuicCc, Transport};
use goodqueue_router::sqm::{Layout, LinkWords};

/// A word that is read is written and read again; one that is not has a reason.
fn reads_back<T>(text: &str)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    match text.parse::<T>() {
        Ok(value) => assert!(value.to_string().parse::<T>().is_ok_and(|again| again == value), "{text}"),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn host(text: &str) {
    let Ok((host, port)) = host_and_port(text) else { return };
    assert!(!host.is_empty() && text.contains(host));
    if let Some(port) = port.filter(|_| !host.contains(']')) {
        assert_eq!(host_and_port(&format!("[{host}]:{port}")), Ok((host, Some(port))), "{text}");
    }
}

/// The same key as text and as hexadecimal digits; another one opens nothing.
fn key(text: &str) {
    let Ok(key) = Key::parse(text) else { return assert!(text.is_empty() || text.starts_with("0x")) };
    let mut datagram = [7; 40];
    datagram[3] = HMAC;
    key.seal(&mut datagram);
    assert!(key.opens(&datagram));
    // An HMAC fills a key with zeros, and takes the hash of a key longer than a block.
    let other = Key::parse(&format!("another {text}")).expect("a key");
    assert!(!other.opens(&datagram), "{text}");
    if !text.starts_with("0x") {
        let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(Key::parse(&format!("0x{digits}")).expect("a key").opens(&datagram), "{text}");
    }
}

fn fill(text: &str) {
    let Some(mut fill) = Fill::parse(text, 1) else { return };
    assert_eq!(Fill::parse(&fill.to_string(), 1).as_ref(), Some(&fill), "{text}");
    let (mut payload, pattern) = ([9; 100], fill.clone());
    fill.write(&mut payload);
    if let Fill::Pattern(bytes) = pattern {
        assert_eq!(payload[0], bytes[0]);
        assert_eq!(payload[99], bytes[99 % bytes.len()]);
    }
}

fn limit(text: &str) {
    let limit: Limit = match text.parse() {
        Ok(limit) => limit,
        Err(why) => return assert!(!why.is_empty()),
    };
    let again: Limit = limit.to_string().parse().expect("it was read before");
    assert_eq!((again.figure().name, again.is_absolute()), (limit.figure().name, limit.is_absolute()));
    for (first, other) in [(None, None), (Some(1.0), None), (None, Some(2.0)), (Some(10.0), Some(0.0))] {
        assert_eq!(again.outcome_of(first, other), limit.outcome_of(first, other), "{text}");
    }
}

/// A line for each flag of `goodqueue run`; a plan of them is an order for a link, queues and seeds.
fn request(text: &str) {
    let mut lines = text.lines();
    let mut next = || lines.next().filter(|line| !line.is_empty()).map(str::to_owned);
    let mut request = Request { test: next().unwrap_or_else(|| "ping".into()), ..Request::default() };
    for flag in [
        &mut request.rate,
        &mut request.seeds,
        &mut request.queue,
        &mut request.rtt,
        &mut request.buffer,
        &mut request.cc,
        &mut request.start_jitter,
        &mut request.shape,
        &mut request.line,
        &mut request.pacing,
        &mut request.transport,
        &mut request.udp_bandwidth,
    ] {
        // A path to a library would be loaded.
        *flag = next().filter(|word| !word.contains('/'));
    }
    request.marks.extend(next());
    request.with.extend(next());
    for flag in [&mut request.length, &mut request.loss, &mut request.idle, &mut request.step] {
        *flag = next().unwrap_or_else(|| flag.clone());
    }
    match Plan::resolve(&request) {
        Ok(plan) => assert!(!plan.queues.is_empty() && !plan.seeds.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// `--set KEY=VALUE` on each line, for a small file: an error names one of them, or a place in the file.
fn set(text: &str) {
    // A path to a library would be loaded.
    let set = text.lines().filter(|line| !line.contains('/')).map(str::to_owned).collect();
    let request = Request { test: "/nonexistent/x.toml".into(), set, ..Request::default() };
    if let Err(error) = Asked::of_text(&request, &["set".into()], "test = 'ping'\n[[flow]]\nname = 'a'\n") {
        let why = error.to_string();
        assert!(why.contains("--set ") || why.contains("x.toml:"), "{why}");
    }
}

// Words as people type them behind a command and its flags.
libfuzzer_sys::fuzz_target!(|text: &str| {
    host(text);
    key(text);
    fill(text);
    limit(text);
    reads_back::<Dscp>(text);
    reads_back::<Extra>(text);
    reads_back::<FlowCount>(text);
    reads_back::<Transport>(text);
    reads_back::<QuicCc>(text);
    let _ = text.parse::<LinkWords>().map_err(|why| assert!(!why.is_empty()));
    let _ = text.parse::<Layout>().map(|layout| assert_eq!(layout.name().parse(), Ok(layout)));
    let _ = read_time(text).map_err(|why| assert!(!why.is_empty()));
    if let Ok(rate) = read_rate(text) {
        assert!(rate.0 > 0 && read_any_rate(text) == Ok(rate), "{text}");
    }
    request(text);
    set(text);
});
