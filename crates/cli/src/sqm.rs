//! `goodqueue sqm`: the kernel's own shapers on an interface, in both directions.

use std::path::Path;

use goodqueue::Rate;
use goodqueue_experiment::Error;
use goodqueue_router::sqm::{self, Layout, Outcome, Queues, Settings, Status};
use goodqueue_wire::netlink::{Interface, Route, interfaces};
use serde_json::{Value, json};

use clap::Parser;
use goodqueue_report::Record;
use goodqueue_report::compare;

use crate::args::{Cli, Command, ShaperArgs, SqmAction, SqmArgs};
use crate::output;
use crate::test::measure;

/// Shapes, shows or stops.
///
/// # Errors
/// [`Error::Usage`] before anything is changed, [`Error::Machine`] with what this machine lacks,
/// [`Error::LimitFailed`] if `status` finds a shaper that is not in force.
pub fn command(args: &SqmArgs) -> Result<(), Error> {
    match &args.action {
        Some(SqmAction::Status { interface, json }) => return status(interface.as_deref(), *json),
        Some(SqmAction::Stop { interface, quiet }) => {
            let what = sqm::stop(interface).map_err(told)?;
            if !quiet {
                output::print(&format!("{what}\n"))?;
            }
            return Ok(());
        }
        None => {}
    }
    if let Some(file) = &args.uci {
        return of_uci(file, args);
    }
    let settings = settings(args)?;
    if args.systemd {
        // The plan shows what is wrong before the next boot does.
        planned(&settings)?;
        let name = &settings.interface;
        let stop = format!("sqm stop {}", quoted(name));
        return output::print(&unit(
            name,
            "sqm",
            "Type=oneshot\nRemainAfterExit=yes\n",
            "CAP_NET_ADMIN",
            &stop,
        )?);
    }
    match &args.verify {
        None => one(&settings, falls_back(args), args),
        Some(host) => verify(host, &settings, args),
    }
}

/// Whether another layout may take the place of cake.
const fn falls_back(args: &SqmArgs) -> bool {
    args.shaper.layout.is_none() && args.shaper.queue.is_none()
}

/// Tests the path, shapes, and tests it again. The shaper stays only if it was worth it.
fn verify(host: &str, settings: &Settings, args: &SqmArgs) -> Result<(), Error> {
    let share = args.least_goodput.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let Some(share) = share.filter(|share| (0.0..=100.0).contains(share)).map(|share| share / 100.0) else {
        return Err(Error::Usage(format!("--least-goodput {}: a share from 0% to 100%", args.least_goodput)));
    };
    planned(settings)?;
    if sqm::status().map_err(told)?.iter().any(|status| status.interface == settings.interface) {
        let name = &settings.interface;
        return Err(Error::Usage(format!(
            "--verify: {name} is shaped already, so a test would not show the link without it; first: \
             goodqueue sqm stop {name}"
        )));
    }
    let say = |text: &str| {
        if !args.quiet {
            announce!("goodqueue: {text}");
        }
    };
    // The arguments of `goodqueue test`, with its defaults.
    let mut words = vec!["goodqueue", "test", host, "--length", &args.length];
    let file = args.key.key_file.as_ref().map(|file| file.to_string_lossy());
    let given = [("--key", args.key.key.as_deref()), ("--key-file", file.as_deref())];
    words.extend(given.iter().filter_map(|(flag, value)| Some([*flag, (*value)?])).flatten());
    words.extend(args.quiet.then_some("--quiet"));
    let parsed = Cli::try_parse_from(words).map_err(|error| Error::Usage(error.to_string()))?;
    let Command::Test(test) = parsed.command else { unreachable!("these are the words of a test") };
    say("testing without the shaper");
    let before = measure(&test)?;
    one(settings, falls_back(args), &SqmArgs { quiet: true, ..args.clone() })?;
    say("testing with the shaper");
    // From here on every way out puts back what was there, unless the shaper proves its worth.
    let kept = measure(&test).and_then(|after| worth(&before, &after, share));
    match kept {
        Ok(why) => output::print(&format!("{}: kept: {why}\n", settings.interface)),
        Err(error) => {
            let what = sqm::stop(&settings.interface).map_err(told)?;
            output::print(&format!("{what}\n"))?;
            Err(error)
        }
    }
}

/// Prints both tests, and says why the shaper is worth it; the error says why not.
fn worth(before: &Record, after: &Record, share: f64) -> Result<String, Error> {
    let comparison = compare::compare(before, after);
    output::print(&compare::text(["before", "after"], &comparison))?;
    let not = |why: String| Err(Error::LimitFailed(format!("not kept: {why}")));
    for (name, record) in [("before", before), ("after", after)] {
        if let Some(run) = record.runs.iter().find(|run| !run.validity.valid) {
            return not(format!(
                "the test {name}, {}, is not valid: {}",
                run.queue,
                run.validity.reasons.join("; ")
            ));
        }
    }
    let of = |figure: &str| {
        let rows = comparison.pairs.iter().flat_map(|pair| &pair.rows).filter(|row| row.figure == figure);
        rows.filter_map(|row| row.first.zip(row.other)).collect::<Vec<_>>()
    };
    let worst = of("rise_p95").into_iter().reduce(|worst, rise| (worst.0.max(rise.0), worst.1.max(rise.1)));
    let Some((first, then)) = worst else { return not("no delay was measured in both tests".into()) };
    if then >= first {
        return not(format!(
            "the delay under load did not fall: 95% of probes rose by at most {first:.1} ms before and \
             {then:.1} ms after"
        ));
    }
    for figure in ["goodput_up", "goodput_down"] {
        if let Some((first, then)) = of(figure).into_iter().find(|(first, then)| *then < share * first) {
            let (left, share) = (then / first * 100.0, share * 100.0);
            return not(format!(
                "{figure} fell to {left:.0}% ({first:.2} to {then:.2} Mbit/s), below {share:.0}%"
            ));
        }
    }
    Ok(format!("95% of probes rose by at most {first:.1} ms before and {then:.1} ms after"))
}

/// Shapes one interface; with `--dry-run` only prints the commands that would do it.
fn one(settings: &Settings, fall_back: bool, args: &SqmArgs) -> Result<(), Error> {
    if args.dry_run {
        let plan = planned(settings)?;
        if let Some(note) = sqm::without_cake_mq(settings, &plan) {
            announce!("goodqueue: {note}");
        }
        return output::print(&plan.to_string());
    }
    let Outcome { plan, was_so, notes, .. } = sqm::start(settings, fall_back).map_err(told)?;
    for note in notes {
        announce!("goodqueue: {note}");
    }
    if !args.quiet {
        let name = &settings.interface;
        output::print(&format!("{name}: {}{}\n", plan.shaped, if was_so { " (as it was)" } else { "" }))?;
        if !was_so {
            output::print(&format!("test it: goodqueue test HOST; stop it: goodqueue sqm stop {name}\n"))?;
        }
    }
    Ok(())
}

/// Shapes the interface of each enabled section of a file. If one fails, the others are still shaped.
fn of_uci(file: &Path, args: &SqmArgs) -> Result<(), Error> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| Error::Usage(format!("{name}: {error}")))?;
    let (sections, left_out) = sqm::read_uci(&text, &name).map_err(told)?;
    for why in left_out {
        announce!("goodqueue: left out, since it is not enabled: {why}");
    }
    let (enabled, off): (Vec<_>, Vec<_>) = sections.into_iter().partition(|section| section.is_enabled);
    for section in off {
        announce!("goodqueue: {name}: queue {} is not enabled (option enabled '1')", section.name);
    }
    if enabled.is_empty() {
        return Err(Error::Usage(format!(
            "{name}: no `config queue` is enabled, so there is nothing to shape"
        )));
    }
    let mut failed: Option<Error> = None;
    for section in enabled {
        for ignored in section.ignored {
            announce!("goodqueue: {name}, {ignored}");
        }
        let of_section = |why: String| format!("{name}: queue {}: {why}", section.name);
        let error = match one(&section.settings, false, args) {
            Ok(()) => continue,
            Err(Error::Usage(why)) => Error::Usage(of_section(why)),
            Err(Error::Machine(why)) => Error::Machine(of_section(why)),
            Err(other) => return Err(other),
        };
        if let Some(before) = failed.replace(error) {
            announce!("goodqueue: {before}");
        }
    }
    failed.map_or(Ok(()), Err)
}

fn settings(args: &SqmArgs) -> Result<Settings, Error> {
    shaped(args.interface.as_deref(), args.up, args.down, &args.shaper)
}

/// What is wanted of an interface.
pub(crate) fn shaped(
    interface: Option<&str>,
    up: Option<Rate>,
    down: Option<Rate>,
    args: &ShaperArgs,
) -> Result<Settings, Error> {
    let queues = match (&args.layout, &args.queue) {
        (Some(layout), _) => {
            Queues::Layout(layout.parse().map_err(|why| Error::Usage(format!("--layout: {why}")))?)
        }
        (None, Some(queue)) => Queues::Written { up: queue.clone(), down: queue.clone() },
        (None, None) => Queues::Layout(Layout::PieceOfCake),
    };
    let link =
        args.link.as_ref().map(|words| words.parse().map_err(|why| Error::Usage(format!("--link {why}"))));
    let interface = interface.unwrap_or_default().to_owned();
    let multi_queue = sqm::has_cake_mq();
    Ok(Settings {
        multi_queue,
        interface,
        up,
        down,
        queues,
        link: link.transpose()?.unwrap_or_default(),
        overhead: args.overhead,
        mpu: args.mpu,
    })
}

pub(crate) fn planned(settings: &Settings) -> Result<sqm::Plan, Error> {
    sqm::plan(settings, &interface_of(&settings.interface)?).map_err(told)
}

/// The interface of this name.
pub(crate) fn interface_of(name: &str) -> Result<Interface, Error> {
    let mut route = Route::open().map_err(Error::machine)?;
    let all = interfaces(&mut route).map_err(Error::machine)?;
    sqm::find(&all, name).cloned().map_err(told)
}

/// A unit for systemd: what was typed, whenever the interface is there. `kind`: how the service runs;
/// `rights`: all that it may have; `stop`: the words of the command that ends it, if it does not end by
/// itself. It writes to `/run` and to `/tmp`, where `goodqueue watch` finds it. The program may be in a home.
pub(crate) fn unit(
    interface: &str,
    name: &str,
    kind: &str,
    rights: &str,
    stop: &str,
) -> Result<String, Error> {
    let program = std::env::current_exe().map_err(Error::machine)?.display().to_string();
    let words = std::env::args().skip(1).filter(|word| word != "--systemd").map(|word| quoted(&word));
    let start = words.collect::<Vec<_>>().join(" ");
    let device = device(interface);
    let (program, interface) = (quoted(&program), quoted(interface));
    let stop = if stop.is_empty() { String::new() } else { format!("ExecStop={program} {stop}\n") };
    Ok(format!(
        "[Unit]\nDescription=Shaper of {interface} (goodqueue {name})\nBindsTo={device}\nAfter={device}\n\n\
         [Service]\n{kind}ExecStart={program} {start}\n\
         {stop}CapabilityBoundingSet={rights}\nNoNewPrivileges=yes\n\
         ProtectSystem=strict\nReadWritePaths=/run /tmp\nProtectHome=read-only\n\n\
         [Install]\nWantedBy={device}\n"
    ))
}

/// The name of systemd's unit for an interface (systemd.unit(5), "String escaping").
fn device(interface: &str) -> String {
    let mut name = "sys-subsystem-net-devices-".to_owned();
    for byte in interface.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b':' | b'_' | b'.' => name.push(byte.into()),
            other => name += &format!("\\x{other:02x}"),
        }
    }
    name + ".device"
}

/// A word for `ExecStart=`: systemd expands `%` and `$`.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    if word.contains([' ', '"', '\'', '\\', ';']) {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        word
    }
}

fn status(only: Option<&str>, as_json: bool) -> Result<(), Error> {
    let mut all = sqm::status().map_err(told)?;
    if let Some(name) = only {
        all.retain(|status| status.interface == name);
        if all.is_empty() {
            return Err(Error::Usage(format!("{name} is not shaped by Goodqueue")));
        }
    }
    if as_json {
        output::print(&format!("{}\n", Value::from(all.iter().map(json_of).collect::<Vec<_>>())))?;
    } else if all.is_empty() {
        output::print("no interface is shaped\n")?;
    } else {
        output::print(&all.iter().map(text_of).collect::<String>())?;
    }
    let broken: Vec<&str> =
        all.iter().filter(|status| !status.faults.is_empty()).map(|status| &*status.interface).collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::LimitFailed(format!("not in force as it was started: {}", broken.join(", "))))
}

fn text_of(status: &Status) -> String {
    let mut text = format!("{}: {}\n", status.interface, status.shaped);
    for (direction, counts) in &status.counts {
        text += &format!(
            "  {:<5}{:>12} packets sent, {} dropped, {} waiting ({} bytes)\n",
            direction.name(),
            counts.packets,
            counts.drops,
            counts.qlen,
            counts.backlog
        );
    }
    if status.follows {
        text += "  rates at the beginning; goodqueue autorate changes them\n";
    }
    for fault in &status.faults {
        text += &format!("  not in force: {fault}\n");
    }
    if let Some(before) = &status.before {
        text += &format!("  before: {before}\n");
    }
    text
}

fn json_of(status: &Status) -> Value {
    let queue = |(direction, shaper): (goodqueue::Direction, &sqm::Shaper)| {
        let counts = status.counts.iter().find(|(of, _)| *of == direction).map(|(_, counts)| counts);
        let counts = counts.map(|counts| {
            json!({
                "sent_bytes": counts.bytes, "sent_packets": counts.packets, "drops": counts.drops,
                "overlimits": counts.overlimits, "requeues": counts.requeues,
                "waiting_packets": counts.qlen, "waiting_bytes": counts.backlog,
            })
        });
        json!({
            "direction": direction.name(), "interface": shaper.dev, "kind": shaper.kind,
            "rate_bps": shaper.rate_bps, "counts": counts,
        })
    };
    json!({
        "interface": status.interface, "in_force": status.faults.is_empty(), "faults": status.faults,
        "follows": status.follows, "before": status.before,
        "queues": status.shaped.each().map(queue).collect::<Vec<_>>(),
    })
}

/// An error of the router's part, with its exit code.
pub(crate) fn told(error: goodqueue_router::Error) -> Error {
    match error {
        goodqueue_router::Error::Refused(why) => Error::Usage(why),
        other => Error::machine(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces_are_escaped_as_systemd_wants_them() {
        assert_eq!(device("eth0.2"), "sys-subsystem-net-devices-eth0.2.device");
        assert_eq!(device("pppoe-wan"), "sys-subsystem-net-devices-pppoe\\x2dwan.device");
    }

    #[test]
    fn words_of_a_unit_are_quoted() {
        assert_eq!(quoted("--up"), "--up");
        assert_eq!(quoted("a b%\"c"), "\"a b%%\\\"c\"");
    }
}
