//! `goodqueue test`: a test over a real path.

use std::net::SocketAddr;

use goodqueue::Span;
use goodqueue_experiment::path::{self, PathHost, PathTest, RpmTest};
use goodqueue_experiment::{Arm, Error, Request};
use goodqueue_path::rpm::client::Server;
use goodqueue_path::rpm::trust::{Fingerprint, Trust};
use goodqueue_probe::rpm::Settings;
use goodqueue_probe::{FlowCount, IpVersion};
use goodqueue_report::{Record, headline};

use crate::again;
use crate::args::TestArgs;
use crate::output::{self, Target};
use crate::path_values::{asked_version, host_and_port, key_text, positive, resolve, span};
use crate::progress::Progress;
use crate::run::{complete, verdict};

/// Runs the test and shows its results.
///
/// # Errors
/// How it ended, if it did not succeed. By then, what was measured has been shown and saved.
pub fn command(args: &TestArgs) -> Result<(), Error> {
    let asked = Asked::new(args)?;
    let target = args.output.as_deref().map(|path| Target::claim(path, asked.loads())).transpose()?;
    let (record, end) = run(args, &asked, target.as_ref())?;
    if record.runs.is_empty() {
        if let Some(target) = target {
            target.give_back();
        }
        return end;
    }
    let shown = show(args, &record, target.as_ref());
    end.and(shown).and_then(|()| complete(&record)).and_then(|()| verdict(&record))
}

/// Runs the test and gives its record, to be shown with another one.
///
/// # Errors
/// How it ended, if it did not come to its end.
#[cfg(target_os = "linux")]
pub(crate) fn measure(args: &TestArgs) -> Result<Record, Error> {
    let (record, end) = run(args, &Asked::new(args)?, None)?;
    end.map(|()| record)
}

fn run(
    args: &TestArgs,
    asked: &Asked,
    target: Option<&Target>,
) -> Result<(Record, Result<(), Error>), Error> {
    let mut record = asked.head(Record {
        title: args.title.clone(),
        note: args.note.clone(),
        ..again::head(without_keys())
    });
    let keep = Box::new(|record: &Record| target.map_or(Ok(()), |target| target.keep(record)));
    let mut progress = Progress::new(Arm::Path, args.quiet || args.json, keep)?;
    let end = asked.run(&mut record, &mut progress);
    drop(progress);
    Ok((record, end))
}

/// What is asked for.
enum Asked {
    Path(Box<PathTest>),
    Rpm(Box<RpmTest>),
}

impl Asked {
    fn new(args: &TestArgs) -> Result<Asked, Error> {
        let (scheme, rest) = args.host.split_once("://").unwrap_or(("", &args.host));
        match (scheme, args.test.as_deref()) {
            ("https", _) | ("", Some("rpm")) => rpm(args, rest).map(|test| Asked::Rpm(Box::new(test))),
            ("", _) => asked(args).map(|test| Asked::Path(Box::new(test))),
            _ => Err(Error::Usage(format!(
                "{}: {scheme} is not spoken here; write https:// or a host alone",
                args.host
            ))),
        }
    }

    fn loads(&self) -> usize {
        match self {
            Asked::Path(test) => test.loads(),
            Asked::Rpm(test) => test.loads(),
        }
    }

    fn head(&self, own: Record) -> Record {
        match self {
            Asked::Path(test) => test.head(own),
            Asked::Rpm(test) => test.head(own),
        }
    }

    fn run(&self, record: &mut Record, progress: &mut Progress) -> Result<(), Error> {
        match self {
            Asked::Path(test) => path::run(test, record, progress),
            Asked::Rpm(test) => test.run(record, progress),
        }
    }
}

/// The test of responsiveness. `rest` is the address of the server without its `https://`.
fn rpm(args: &TestArgs, rest: &str) -> Result<RpmTest, Error> {
    let wrong = |text: String| Err(Error::Usage(text));
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    if !matches!(path, "" | "/" | "/.well-known/nq") {
        return wrong(format!(
            "{}: the test is at /.well-known/nq on every server; leave {path} out",
            args.host
        ));
    }
    if let Some(test) = args.test.as_deref().filter(|test| *test != "rpm") {
        return wrong(format!("{test}: with https:// there is one test, rpm; leave {test} out"));
    }
    let of_others = [
        ("--key", args.key.key.is_some() || args.key.key_file.is_some()),
        ("--cc", args.cc.is_some()),
        ("--marks", !args.marks.is_empty()),
        ("--transport", args.transport.is_some()),
        ("--locate", args.locate),
        ("--with", !args.with.is_empty()),
        ("--host", !args.more.is_empty()),
        ("--peer", args.peer.is_some()),
    ];
    if let Some((flag, _)) = of_others.iter().find(|(_, is_given)| *is_given) {
        return wrong(format!("{flag}: not for RPM over HTTPS; leave it out, or name another test"));
    }
    let (name, port) = host_and_port(&rest[..rest.len() - path.len()])?;
    let port = args.port.or(port).unwrap_or(443);
    let trust = match &args.fingerprint {
        Some(text) => match Fingerprint::parse(text) {
            Some(fingerprint) => Trust::Pinned(fingerprint),
            None => return wrong(format!("--fingerprint {text}: 64 hexadecimal digits are needed")),
        },
        None if args.insecure => Trust::Anybody,
        None => Trust::Web,
    };
    let interval = positive("rpm-interval", &args.rpm_interval)?;
    let length = positive("length", args.length.as_deref().unwrap_or("20s"))?;
    let most = match args.flows.unwrap_or(FlowCount::Both(16)) {
        FlowCount::Both(most) => most,
        each @ FlowCount::Each { .. } => {
            let cure = each.most();
            return wrong(format!(
                "--flows {each}: rpm has one maximum for both directions; write --flows {cure}"
            ));
        }
    };
    if most == 0 || most > 64 {
        return wrong(format!("--flows {most}: from 1 to 64 connections"));
    }
    let limit = usize::try_from(length.0 / interval.0).unwrap_or(usize::MAX);
    if limit == 0 || limit > 100_000 {
        return wrong(format!(
            "--length {length}: it must hold at least one --rpm-interval, of {interval}, and at most 100000"
        ));
    }
    let settings = Settings { interval, most, limit, idle: span("idle", &args.idle)?, ..Settings::default() };
    let version = asked_version(args.ipv4, args.ipv6);
    let step: Span = positive("step", &args.step)?;
    let place = Server { address: resolve(name, port, version)?, host: name.to_owned(), trust };
    let url = format!("https://{rest}");
    RpmTest::discover(&url, &place, settings, step, &|host, port| resolve(host, port, version))
}

/// Finds the address of a host.
type Find = fn(&str, u16, Option<IpVersion>) -> Result<SocketAddr, Error>;

/// Makes sense of the flags.
fn asked(args: &TestArgs) -> Result<PathTest, Error> {
    if args.fingerprint.is_some() || args.insecure {
        return Err(Error::Usage(
            "--fingerprint and --insecure: for RPM alone, https://HOST or the test rpm".into(),
        ));
    }
    // What people notice of the load, unless something else was asked for.
    let people = ["voip", "web", "dash"].map(str::to_owned);
    let request = Request {
        test: args.test.clone().unwrap_or_default(),
        length: args.length.clone().unwrap_or_else(|| "10s".into()),
        idle: args.idle.clone(),
        step: args.step.clone(),
        probe_interval: args.probe_interval.clone(),
        flows: args.flows,
        cc: args.cc.clone(),
        marks: args.marks.clone(),
        transport: args.transport.clone(),
        delay: args.delay.clone(),
        pacing: args.pacing.clone(),
        udp_bandwidth: args.udp_bandwidth.clone(),
        udp_pktsize: args.udp_pktsize,
        with: if args.test.is_none() && args.with.is_empty() { people.to_vec() } else { args.with.clone() },
        ..Request::default()
    };
    let key = key_text(&args.key)?;
    let more = args.more.iter().map(|text| split_key(text));
    let (version, versions) = (asked_version(args.ipv4, args.ipv6), PathTest::versions(&request)?);
    if let (Some(version), [_, ..]) = (version, &versions[..]) {
        let name = &request.test;
        return Err(Error::Usage(format!("{name} has both IP versions; leave out the flag for {version}")));
    }
    let servers: Vec<(&str, Option<&str>)> =
        std::iter::once((args.host.as_str(), None)).chain(more).collect();
    // A server alone is asked for its address of each version.
    let hosts = if servers.len() == 1 { versions.len().max(1) } else { servers.len() };
    let of = |host: usize| (servers[host.min(servers.len() - 1)], versions.get(host).copied().or(version));
    let typed: Vec<_> = (0..hosts).map(of).collect();
    let peer = args.peer.as_deref().map(|peer| (split_key(peer), version));
    let host = |&((text, own), version): &((&str, Option<&str>), Option<IpVersion>),
                find: Find|
     -> Result<PathHost, Error> {
        let (name, port) = host_and_port(text)?;
        let address = find(name, args.port.or(port).unwrap_or(goodqueue_path::PORT), version)?;
        let key = own.map(str::to_owned).or_else(|| key.clone());
        Ok(PathHost { name: text.to_owned(), address, key })
    };
    // An unknown test is reported before a name is resolved.
    let unresolved = |_: &str, port: u16, _: Option<IpVersion>| Ok(SocketAddr::from(([0, 0, 0, 0], port)));
    let hosts = typed.iter().map(|typed| host(typed, unresolved)).collect::<Result<_, Error>>()?;
    PathTest::new(&request, hosts)?;
    let hosts = typed.iter().map(|typed| host(typed, resolve)).collect::<Result<_, Error>>()?;
    let mut test = PathTest::new(&request, hosts)?;
    test.locate = args.locate;
    // The key of the server is none of the observer's.
    let own = |peer: PathHost, own: Option<&str>| PathHost { key: own.map(str::to_owned), ..peer };
    test.peer = peer.map(|peer| host(&peer, resolve).map(|found| own(found, peer.0.1))).transpose()?;
    Ok(test)
}

/// A host and its key, of `HOST=KEY`.
fn split_key(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(host, key)| (host, Some(key)))
}

/// The command line without keys, since records are passed on.
fn without_keys() -> Vec<String> {
    let mut words = vec!["goodqueue".to_owned()];
    let mut before = String::new();
    for word in std::env::args().skip(1) {
        let is_host = |word: &str| ["-H", "--host", "--peer"].iter().any(|flag| word.starts_with(flag));
        words.push(if before == "--key" {
            "WORD".into()
        } else if word.starts_with("--key=") {
            "--key=WORD".into()
        } else if is_host(&before) || is_host(&word) {
            // `--host=HOST=KEY` has two equals signs; a host has none.
            let value =
                word.strip_prefix("--").and_then(|rest| rest.split_once('=')).filter(|_| is_host(&word));
            match (value, word.split_once('=')) {
                (Some((flag, value)), _) => match value.split_once('=') {
                    Some((host, _)) => format!("--{flag}={host}=WORD"),
                    None => word.clone(),
                },
                (None, Some((host, _))) => format!("{host}=WORD"),
                (None, None) => word.clone(),
            }
        } else {
            word.clone()
        });
        before = word;
    }
    words
}

/// Prints the sentences and the table, and writes the files.
fn show(args: &TestArgs, record: &Record, target: Option<&Target>) -> Result<(), Error> {
    if args.json {
        output::print_record(record)?;
    } else {
        output::print(&format!("{}\n\n", headline(record)))?;
        output::print_table(record, args.wide, false)?;
    }
    match target {
        Some(target) => {
            let page = target.write(record)?;
            if !args.quiet {
                announce!("goodqueue: open {}", page.display());
            }
        }
        None if !args.quiet && !args.json => {
            announce!("goodqueue: add `-o DIR` to keep the record, the page and the pictures");
        }
        None => {}
    }
    Ok(())
}
