//! `goodqueue airtime`: the stations of real access points, and their weights by a policy.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use goodqueue_experiment::{AirtimePolicy, Error};
use goodqueue_router::Error as RouterError;
use goodqueue_router::airtime::{
    Controller, Hold, PerAc, Row, Rules, Snapshot, StationState, View, Wireless, left, restore,
};
use goodqueue_router::watch::interval;
use goodqueue_wire::Interrupt;
use serde_json::{Value, json};

use crate::args::AirtimeArgs;
use crate::output;
use crate::path_values::positive;
use crate::prometheus::stations;
use crate::screen::{self, Step};
use crate::sqm::told;

/// Columns of the table.
const HEADER: &str = "station            interface   dBm  Mbit/s: rate    down      up  air %: down    up  \
                      weight  queued  drops/s  retries/s";

/// Shows stations, and sets weights, until it is interrupted.
///
/// # Errors
/// [`Error::Usage`] for a wrong interface, interval or policy; [`Error::Machine`] with what this machine, its
/// driver or its kernel lacks.
pub fn command(args: &AirtimeArgs) -> Result<(), Error> {
    let span = positive("interval", &args.interval)?;
    let span = interval(Duration::from_nanos(span.0)).map_err(told)?;
    let policy = args.policy.as_deref().map(read).transpose()?;
    let mut wireless = Wireless::open().map_err(told)?;
    let first = Snapshot::now(&mut wireless, &args.interfaces).map_err(told)?;
    if args.prometheus {
        return output::print(&stations(&first.since(&first).stations));
    }
    if args.restore {
        let lines = restore(&mut wireless, &first).map_err(told)?;
        return output::print(&format!("{}\n", lines.join("\n")));
    }
    if let (Some(policy), true) = (&policy, args.dry_run) {
        return dry_run(policy, &first);
    }
    let of_killed = if policy.is_none() { left(&first) } else { Vec::new() };
    for radio in of_killed {
        announce!(
            "goodqueue: {radio} still has weights of a goodqueue airtime that was killed; --restore puts \
             them back"
        );
    }
    let mut session = Session::start(wireless, first, policy.as_ref(), args, span)?;
    let end = session.run(args);
    // Whatever ended it, what was there before comes back.
    let back = session.stop();
    end.and(back)
}

fn read(file: &Path) -> Result<AirtimePolicy, Error> {
    AirtimePolicy::read(file).map_err(|error| Error::Usage(error.to_string()))
}

/// The policy as rules for a controller.
fn rules(policy: &AirtimePolicy) -> Rules {
    let (groups, interval, policy) = (policy.groups(), policy.interval(), policy.clone());
    Rules { groups, interval, membership: Box::new(move |mac, interface| policy.place(mac.0, interface)) }
}

/// Prints the commands that would set the weights if packets waited for every station.
fn dry_run(policy: &AirtimePolicy, look: &Snapshot) -> Result<(), Error> {
    let mut text = String::new();
    for radio in look.radios() {
        if let Err(why) = radio.check_weights(policy.groups().is_some()) {
            announce!("goodqueue: {why}");
        }
        text += &weights(policy, &look.station_states(radio.index));
    }
    output::print(&text)
}

fn weights(policy: &AirtimePolicy, stations: &[StationState<'_>]) -> String {
    let all: Vec<StationState<'_>> =
        stations.iter().map(|station| StationState { has_packets: true, ..*station }).collect();
    let weights = Controller::new(rules(policy), goodqueue::Nanos::ZERO).update(goodqueue::Nanos::ZERO, &all);
    weights.iter().fold(String::new(), |text, weight| text + &format!("{weight}\n"))
}

/// A radio whose weights are set.
struct Governed {
    radio: u32,
    controller: Controller,
    hold: Hold,
}

/// The state of the command while it runs.
struct Session<'a> {
    wireless: Wireless,
    governed: Vec<Governed>,
    interfaces: &'a [String],
    /// Time between two updates.
    tick: Duration,
    /// Time between two tables.
    span: Duration,
    start: Instant,
    /// The look of the table before, and that of now.
    shown: Snapshot,
    latest: Snapshot,
    /// When the next table is due.
    due: Instant,
}

impl<'a> Session<'a> {
    fn start(
        mut wireless: Wireless,
        first: Snapshot,
        policy: Option<&AirtimePolicy>,
        args: &'a AirtimeArgs,
        span: Duration,
    ) -> Result<Session<'a>, Error> {
        let start = Instant::now();
        let mut governed = Vec::new();
        for (policy, radio) in
            policy.iter().flat_map(|policy| first.radios().iter().map(move |radio| (policy, radio)))
        {
            radio.check_weights(policy.groups().is_some()).map_err(told)?;
            let (hold, count) = Hold::take(&mut wireless, radio, &first).map_err(told)?;
            if count > 0 {
                announce!(
                    "goodqueue: {}: restored the weights of {count} stations after a goodqueue airtime that \
                     was killed",
                    radio.name
                );
            }
            let controller = Controller::new(rules(policy), goodqueue::Nanos::ZERO);
            governed.push(Governed { radio: radio.index, controller, hold });
        }
        let own = policy.map_or(span, |policy| Duration::from_nanos(policy.interval().0));
        Ok(Session {
            wireless,
            governed,
            interfaces: &args.interfaces,
            tick: own.min(span),
            span,
            start,
            shown: first.clone(),
            latest: first,
            due: start + span,
        })
    }

    fn run(&mut self, args: &AirtimeArgs) -> Result<(), Error> {
        let mut left = args.count.unwrap_or(u64::MAX);
        if !args.json && io::stdout().is_terminal() && io::stdin().is_terminal() {
            return screen::show(HEADER, self.tick, &mut || {
                let Some(view) = self.look()? else { return Ok(Step::Same) };
                left -= 1;
                Ok(if left == 0 { Step::Last } else { Step::Rows(text(&view)) })
            });
        }
        let interrupt = Interrupt::new().map_err(Error::machine)?;
        while left > 0 {
            if interrupt.wait(self.tick).map_err(Error::machine)?.is_some() {
                break;
            }
            let Some(view) = self.look()? else { continue };
            left -= 1;
            if args.json {
                output::print(&format!("{}\n", json_of(&view)))?;
            } else {
                output::print(&format!("{HEADER}\n{}\n", text(&view)))?;
            }
        }
        Ok(())
    }

    /// Looks, sets weights, and returns what happened if a table is due.
    fn look(&mut self) -> Result<Option<View>, Error> {
        let at = Instant::now();
        let look = if at < self.due {
            self.latest.again(&mut self.wireless)
        } else {
            Snapshot::now(&mut self.wireless, self.interfaces)
        };
        self.latest = match look {
            // An access point that is started anew is gone for a moment.
            Err(RouterError::Refused(_) | RouterError::Missing { .. }) => self.latest.without_stations(),
            look => look.map_err(told)?,
        };
        let now = goodqueue::Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        for Governed { radio, controller, hold } in &mut self.governed {
            let weights = controller.update(now, &self.latest.station_states(*radio));
            hold.set(&mut self.wireless, &self.latest, &weights).map_err(told)?;
        }
        if at < self.due {
            return Ok(None);
        }
        self.due = (self.due + self.span).max(at);
        let view = self.latest.since(&self.shown);
        self.shown = self.latest.clone();
        Ok(Some(view))
    }

    fn stop(self) -> Result<(), Error> {
        let Session { mut wireless, governed, interfaces, latest, .. } = self;
        // Stations may have come since; without an answer, those of the last look are put back.
        let look = Snapshot::now(&mut wireless, interfaces).unwrap_or(latest);
        let mut end = Ok(());
        for Governed { hold, .. } in governed {
            let released = hold.release(&mut wireless, &look).map_err(told);
            end = end.and(released.map(|_| ()));
        }
        end
    }
}

/// The rows of the table; below them the state of the radios, and the stations that joined or left.
fn text(view: &View) -> String {
    let mut out = String::new();
    view.stations.iter().for_each(|station| out += &row(station));
    if view.stations.is_empty() {
        out += "no stations\n";
    }
    for radio in &view.radios {
        let features = radio.features;
        let has = [
            (features.airtime_fairness, "airtime fairness"),
            (features.aql, "AQL"),
            (features.txqs, "queue statistics"),
        ];
        let has: Vec<&str> = has.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        let has = if has.is_empty() { "nothing of airtime".into() } else { has.join(", ") };
        let _ = write!(out, "{}: driver with {has}", radio.name);
        if let Some(queues) = radio.queues {
            let _ = write!(
                out,
                "; {} packets ({:.1} kB) wait, {} dropped, {} marked",
                queues.backlog_packets,
                f64::from(queues.backlog_bytes) / 1e3,
                u64::from(queues.drops) + u64::from(queues.overlimit),
                queues.ecn_marks
            );
        }
        out.push('\n');
    }
    view.events.iter().for_each(|event| out += &format!("{event}\n"));
    view.notes.iter().for_each(|note| out += &format!("{note}\n"));
    out
}

fn row(row: &Row) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let percent = |share: Option<f64>| or_dash(share.map(|share| format!("{:.1}", 100.0 * share)));
    let mut out = format!(
        "{:<19}{:<10}{:>5}{:>14}{:>8.2}{:>8.2}{:>13}{:>6}{:>8}{:>8}{:>9}{:>11.1}\n",
        row.station.label(),
        row.interface,
        or_dash(row.station.signal_dbm.map(|dbm| dbm.to_string())),
        or_dash(row.station.tx_rate_bps.map(|rate| format!("{:.1}", rate as f64 / 1e6))),
        row.down_bps / 1e6,
        row.up_bps / 1e6,
        percent(row.air_down),
        percent(row.air_up),
        or_dash(row.station.weight.map(|weight| weight.to_string())),
        or_dash(row.backlog_packets.map(|packets| packets.to_string())),
        or_dash(row.drops_per_s.map(|drops| format!("{drops:.1}"))),
        row.retries_per_s,
    );
    let per_ac = |of: &PerAc<i64>| format!("VO {} VI {} BE {} BK {} us", of.vo, of.vi, of.be, of.bk);
    let Some(deficits) = &row.deficits else { return out };
    if let Some(deficit) = &deficits.deficit_us {
        let _ = writeln!(out, "{:19}deficit {}", "", per_ac(deficit));
    }
    if let (Some(pending), Some(low), Some(high)) =
        (&deficits.pending_us, &deficits.limit_low_us, &deficits.limit_high_us)
    {
        let (pending, low, high) = (per_ac(pending), low.be, high.be);
        let _ = writeln!(out, "{:19}in hardware {pending} (AQL: BE may have {low}, alone {high})", "");
    }
    out
}

fn json_of(view: &View) -> Value {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    json!({
        "t": time.as_secs_f64(), "radios": view.radios, "stations": view.stations, "events": view.events,
        "notes": view.notes,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use goodqueue_experiment::Experiment;
    use goodqueue_router::airtime::{Deficits, Event, Features, Mac, Radio, Station, Txq};

    use super::*;

    /// Two stations. The driver reports little of the second.
    pub(crate) fn view() -> View {
        let station = |number, weight| Station {
            mac: Mac([2, 0, 0, 0, number, 0]),
            signal_dbm: Some(-52),
            tx_rate_bps: Some(144_400_000),
            weight,
            ..Station::default()
        };
        let each = |us| PerAc { vo: 0, vi: 0, be: us, bk: 1 };
        let deficits = Deficits {
            deficit_us: Some(each(-3120)),
            pending_us: Some(each(4999)),
            limit_low_us: Some(each(5000)),
            limit_high_us: Some(each(12_000)),
        };
        let busy = Row {
            radio: "phy0".into(),
            interface: "wlan0".into(),
            station: station(1, Some(256)),
            down_bps: 41.5e6,
            up_bps: 1.25e6,
            air_down: Some(0.482),
            air_up: Some(0.03),
            retries_per_s: 12.0,
            drops_per_s: Some(3.0),
            marks_per_s: Some(0.0),
            backlog_packets: Some(64),
            deficits: Some(deficits),
        };
        let poor = Row {
            interface: "guest0".into(),
            station: Station { signal_dbm: None, tx_rate_bps: None, ..station(2, None) },
            air_down: None,
            air_up: None,
            drops_per_s: None,
            backlog_packets: None,
            deficits: None,
            ..busy.clone()
        };
        let queues = Txq { backlog_packets: 64, backlog_bytes: 96_500, drops: 7, ..Txq::default() };
        let radio = Radio {
            name: "phy0".into(),
            features: Features { airtime_fairness: true, aql: true, txqs: true },
            queues: Some(queues),
            ..Radio::default()
        };
        let moved =
            Event::Moved { mac: Mac([2, 0, 0, 0, 2, 0]), from: "wlan0".into(), interface: "guest0".into() };
        View {
            radios: vec![radio],
            stations: vec![busy, poor],
            events: vec![moved],
            notes: vec!["a note".into()],
        }
    }

    #[test]
    fn stations_are_seen_at_a_glance() {
        assert_eq!(format!("{HEADER}\n{}", text(&view())), "\
station            interface   dBm  Mbit/s: rate    down      up  air %: down    up  weight  queued  drops/s  retries/s
02:00:00:00:01:00  wlan0       -52         144.4   41.50    1.25         48.2   3.0     256      64      3.0       12.0
                   deficit VO 0 VI 0 BE -3120 BK 1 us
                   in hardware VO 0 VI 0 BE 4999 BK 1 us (AQL: BE may have 5000, alone 12000)
02:00:00:00:02:00  guest0        -             -   41.50    1.25            -     -       -       -        -       12.0
phy0: driver with airtime fairness, AQL, queue statistics; 64 packets (96.5 kB) wait, 7 dropped, 0 marked
02:00:00:00:02:00 moved from wlan0 to guest0
a note
");
    }

    #[test]
    fn json_has_everything() {
        let json = json_of(&view());
        let station = &json["stations"][0];
        assert_eq!(station["mac"], "02:00:00:00:01:00");
        assert_eq!((&station["weight"], &station["air_down"]), (&json!(256), &json!(0.482)));
        assert_eq!(station["deficits"]["deficit_us"]["BE"], -3120);
        assert_eq!(json["events"][0]["event"], "moved");
        assert_eq!(json["radios"][0]["features"]["airtime_fairness"], true);
    }

    /// The policy of docs/airtime.md.
    const POLICY: &str = include_str!("../../../docs/airtime-policy.toml");

    /// Stations at the access point of the policy above.
    fn state(number: u8, interface: &str) -> StationState<'_> {
        let mac = Mac([2, 0, 0, 0, number, 0]);
        StationState { mac, index: 3, interface, has_packets: false, weight: None }
    }

    #[test]
    fn a_policy_prints_as_commands() {
        let policy = AirtimePolicy::parse(POLICY, "p.toml").expect("right");
        let stations = [state(1, "wlan0"), state(2, "wlan0"), state(3, "guest0"), state(4, "guest0")];
        assert_eq!(
            weights(&policy, &stations),
            "\
iw dev wlan0 station set 02:00:00:00:01:00 airtime_weight 1024
iw dev wlan0 station set 02:00:00:00:02:00 airtime_weight 512
iw dev guest0 station set 02:00:00:00:03:00 airtime_weight 256
iw dev guest0 station set 02:00:00:00:04:00 airtime_weight 256
"
        );
    }

    /// The simulator with the same file: its access point sets the same weights, and the air is shared so.
    #[test]
    fn the_simulator_decides_the_same_with_the_same_file() {
        // The flow of the fastest station needs some seconds to fill its share.
        let text = format!("test = {{ name = \"tcp_1down\", length = \"20s\" }}\n{POLICY}");
        let experiment = Experiment::parse(&text, "p.toml", Path::new("")).expect("right");
        let record = experiment.run().expect("a run");
        let stations = &record.runs[0].radios[0].stations;
        let simulated: Vec<(&str, u32)> =
            stations.iter().map(|station| (&*station.name, station.weight)).collect();
        assert_eq!(simulated, [("desk", 1024), ("phone", 512), ("guest1", 256), ("guest2", 256)]);
        let policy = AirtimePolicy::parse(POLICY, "p.toml").expect("right");
        let ours =
            weights(&policy, &[state(1, "wlan0"), state(2, "wlan0"), state(3, "guest0"), state(4, "guest0")]);
        for ((_, weight), line) in simulated.iter().zip(ours.lines()) {
            assert!(line.ends_with(&format!("airtime_weight {weight}")), "{line}");
        }
        let airtime: Vec<u64> =
            stations.iter().map(|station| station.airtime_tx_us + station.airtime_rx_us).collect();
        let home = airtime[..2].iter().sum::<u64>() as f64 / airtime.iter().sum::<u64>() as f64;
        assert!((0.70..0.80).contains(&home), "the home has {home} of the air, not about 3/4");
    }
}
