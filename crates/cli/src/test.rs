//! `goodqueue test`: a test over a real path.

use std::time::SystemTime;

use goodqueue_experiment::path::{self, PathTest};
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
    let (name, port) = host_and_port(&args.host)?;
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(Family::V4),
        (_, true) => Some(Family::V6),
        _ => None,
    };
    let port = args.port.or(port).unwrap_or(goodqueue_path::PORT);
    let request = Request {
        test: args.test.clone().unwrap_or_default(),
        length: args.length.clone(),
        idle: args.idle.clone(),
        step: args.step.clone(),
        probe_interval: args.probe_interval.clone(),
        flows: args.flows,
        cc: args.cc.clone(),
        transport: args.transport.clone(),
        // A call shows what the load does to people.
        with: if args.test.is_none() { vec!["voip".into()] } else { Vec::new() },
        ..Request::default()
    };
    let key = key_text(&args.key)?;
    // A test that does not exist is said before the name is looked up.
    let unresolved = std::net::SocketAddr::from(([0, 0, 0, 0], port));
    PathTest::new(&request, &args.host, unresolved, key.clone())?;
    let mut test = PathTest::new(&request, &args.host, resolve(name, port, family)?, key)?;
    test.locate = args.locate;
    Ok(test)
}

/// The command line, without the key: a record is made to be passed on.
fn typed() -> Vec<String> {
    let mut words = vec!["goodqueue".to_owned()];
    let mut is_key = false;
    for word in std::env::args().skip(1) {
        if std::mem::replace(&mut is_key, word == "--key") {
            words.push("WORD".into());
        } else if word.starts_with("--key=") {
            words.push("--key=WORD".into());
        } else {
            words.push(word);
        }
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
