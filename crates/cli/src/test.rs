//! `goodqueue test`: a test over a real path.

use std::net::SocketAddr;
use std::time::SystemTime;

use goodqueue_experiment::path::{self, PathHost, PathTest};
use goodqueue_experiment::{Arm, Error, Request};
use goodqueue_report::{Record, SCHEMA, headline};

use crate::args::TestArgs;
use crate::output::{self, Target};
use crate::path_values::{Family, host_and_port, key_text, resolve};
use crate::progress::Progress;
use crate::run::{complete, host, verdict};

/// Runs the test and shows what came of it.
///
/// # Errors
/// How it ended, where it did not simply succeed. What was measured has been shown and kept by then.
pub fn command(args: &TestArgs) -> Result<(), Error> {
    let asked = asked(args)?;
    let target = args.output.as_deref().map(|path| Target::claim(path, asked.loads())).transpose()?;
    let mut record = asked.head(Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        title: args.title.clone(),
        note: args.note.clone(),
        command: typed(),
        host: host(),
        ..Record::default()
    });
    let keep = Box::new(|record: &Record| target.as_ref().map_or(Ok(()), |target| target.keep(record)));
    let mut progress = Progress::new(Arm::Path, args.quiet || args.json, keep)?;
    let end = path::run(&asked, &mut record, &mut progress);
    drop(progress);
    if record.runs.is_empty() {
        if let Some(target) = target {
            target.give_back();
        }
        return end;
    }
    let shown = show(args, &record, target.as_ref());
    end.and(shown).and_then(|()| complete(&record)).and_then(|()| verdict(&record))
}

/// Makes sense of the flags.
fn asked(args: &TestArgs) -> Result<PathTest, Error> {
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    };
    // What the load does to people, where nothing else was asked for.
    let people = ["voip", "web", "dash"].map(str::to_owned);
    let request = Request {
        test: args.test.clone().unwrap_or_default(),
        length: args.length.clone(),
        idle: args.idle.clone(),
        step: args.step.clone(),
        probe_interval: args.probe_interval.clone(),
        flows: args.flows,
        cc: args.cc.clone(),
        delay: args.delay.clone(),
        udp_bandwidth: args.udp_bandwidth.clone(),
        udp_pktsize: args.udp_pktsize,
        with: if args.test.is_none() && args.with.is_empty() { people.to_vec() } else { args.with.clone() },
        ..Request::default()
    };
    let key = key_text(&args.key)?;
    let more: Vec<(&str, Option<&str>)> = args.more.iter().map(|text| split_key(text)).collect();
    let typed = std::iter::once((args.host.as_str(), None)).chain(more);
    let (typed, peer): (Vec<_>, _) = (typed.collect(), args.peer.as_deref().map(split_key));
    let host = |&(text, own): &(&str, Option<&str>),
                find: &dyn Fn(&str, u16) -> Result<SocketAddr, Error>|
     -> Result<PathHost, Error> {
        let (name, port) = host_and_port(text)?;
        let address = find(name, args.port.or(port).unwrap_or(goodqueue_path::PORT))?;
        let key = own.map(str::to_owned).or_else(|| key.clone());
        Ok(PathHost { name: text.to_owned(), address, key })
    };
    // A test that does not exist is said before a name is looked up.
    let unresolved = |_: &str, port: u16| Ok(SocketAddr::from(([0, 0, 0, 0], port)));
    let hosts = typed.iter().map(|typed| host(typed, &unresolved)).collect::<Result<_, Error>>()?;
    PathTest::new(&request, hosts)?;
    let found = |name: &str, port| resolve(name, port, family);
    let hosts = typed.iter().map(|typed| host(typed, &found)).collect::<Result<_, Error>>()?;
    let mut test = PathTest::new(&request, hosts)?;
    test.locate = args.locate;
    // The key of the server is none of the observer's.
    let own = |peer: PathHost, own: Option<&str>| PathHost { key: own.map(str::to_owned), ..peer };
    test.peer = peer.map(|peer| host(&peer, &found).map(|found| own(found, peer.1))).transpose()?;
    Ok(test)
}

/// A host and its key, of `HOST=KEY`.
fn split_key(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(host, key)| (host, Some(key)))
}

/// The command line, without keys: a record is made to be passed on.
fn typed() -> Vec<String> {
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
                eprintln!("goodqueue: open {}", page.display());
            }
        }
        None if !args.quiet && !args.json => {
            eprintln!("goodqueue: add `-o DIR` to keep the record, the page and the pictures");
        }
        None => {}
    }
    Ok(())
}
