//! Responsiveness against any server of draft-ietf-ippm-responsiveness: downloads, then uploads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use goodqueue::Span;
use goodqueue_path::rpm::client::{self, Ended, Event, Failure, Server};
use goodqueue_path::rpm::document::Document;
use goodqueue_path::rpm::trust::Trust;
use goodqueue_probe::net::{LACKS, random_u64};
use goodqueue_probe::rpm::{Confidence, LOADS, Plan, Settings, Tls, lost, samples};
use goodqueue_probe::{Direction, Sample, TcpSample, Test};
use goodqueue_report::{LinkPlan, Record, Run, SenderLimits};

use super::doubts;
use super::machine::Machine;
use crate::collect::{Collector, QueueEnd};
use crate::record::{direction, test_plan};
use crate::rpm::{faults, responsiveness};
use crate::{Arm, Error, Monitor, Turn};

/// Name of the test.
const NAME: &str = "rpm";
/// Pause between two loads, so that the queue of the first is empty.
const PAUSE: Duration = Duration::from_secs(1);

/// A test of responsiveness, against a server whose document is known.
#[derive(Clone, Debug)]
pub struct RpmTest {
    /// The server as typed.
    url: String,
    place: Server,
    document: Document,
    settings: Settings,
    test: Test,
}

impl RpmTest {
    /// Asks the server of `place` for its document. `resolve` finds the address of the host that the document
    /// names.
    ///
    /// # Errors
    /// [`Error::Machine`] if there is no such server, [`Error::Usage`] if its certificate is not trusted.
    /// Both name the cure.
    pub fn discover(
        url: &str,
        place: &Server,
        settings: Settings,
        step: Span,
        resolve: &dyn Fn(&str, u16) -> Result<SocketAddr, Error>,
    ) -> Result<RpmTest, Error> {
        let port = place.address.port();
        let document = client::discover(place, port).map_err(|failure| explain(url, place, &failure))?;
        let host = document.small.host().unwrap_or_default().to_owned();
        let is_same = document.host().eq_ignore_ascii_case(&place.host) && document.port() == port;
        let address = if is_same { place.address } else { resolve(document.host(), document.port())? };
        let place = Server { address, host, trust: place.trust };
        let test = test(&settings, step, settings.limit);
        Ok(RpmTest { url: url.to_owned(), place, document, settings, test })
    }

    /// The number of loads.
    #[must_use]
    pub fn loads(&self) -> usize {
        Direction::BOTH.len()
    }

    /// The record before anything has run: `own`, and everything already known.
    #[must_use]
    pub fn head(&self, own: Record) -> Record {
        Record {
            arm: Arm::Path.name().into(),
            server: Some(self.url.clone()),
            planned: LOADS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            test: test_plan(&self.test),
            link: LinkPlan {
                mtu_bytes: goodqueue::ETHERNET_MTU,
                ip_version: if self.place.address.is_ipv6() { 6 } else { 4 },
                ..LinkPlan::default()
            },
            warnings: own.warnings.iter().cloned().chain(LACKS.of_tests()).collect(),
            ..own
        }
    }

    /// Runs both loads. However it ends, `record` contains what was measured.
    ///
    /// # Errors
    /// The first reason to stop.
    pub fn run(&self, record: &mut Record, monitor: &mut dyn Monitor) -> Result<(), Error> {
        let turn = |(name, _): &(&str, Direction)| Turn {
            label: (*name).into(),
            idle: self.test.idle,
            load: self.test.load,
        };
        monitor.plan(&LOADS.iter().map(turn).collect::<Vec<_>>(), 1);
        let (mut end, mut most) = (Ok(()), usize::MAX);
        for (number, &(name, way)) in LOADS.iter().enumerate() {
            if number > 0 {
                thread::sleep(PAUSE);
            }
            monitor.begin(number);
            let (run, ended) = self.one(number, name, way, monitor);
            monitor.end(number, !run.as_ref().is_some_and(|run| run.complete));
            if let Some(run) = run {
                // A load ends when it is stable. All figures are for the part that all loads have.
                let ran = run.rpm.as_ref().map_or(0, |rpm| rpm.intervals.len());
                most = if run.complete { most.min(ran) } else { most };
                record.test = test_plan(&test(&self.settings, self.test.step, most.min(self.settings.limit)));
                record.runs.push(run);
                end = monitor.keep(record);
            }
            end = end.and(ended);
            if end.is_err() {
                break;
            }
        }
        monitor.close();
        end
    }

    fn one(
        &self,
        number: usize,
        name: &str,
        way: Direction,
        monitor: &mut dyn Monitor,
    ) -> (Option<Run>, Result<(), Error>) {
        let run = client::Run {
            place: self.place.clone(),
            document: self.document.clone(),
            direction: way,
            settings: self.settings,
            step: self.test.step,
            seed: random_u64().unwrap_or(1),
            length: None,
            cc: None,
        };
        let mut seen = LoadOutcome {
            collector: Collector::new(name, &self.test),
            first: self.test.rpm.as_ref().map_or(0, |plan| plan.first_flow(way)),
            flows: self.test.flows.len(),
            tcp: BTreeMap::new(),
            machine: Machine::new(),
        };
        let (stop, mut signal) = (AtomicBool::new(false), None);
        let ended = run.run(&stop, &mut |event| {
            seen.take(&event);
            if let Event::Passed { .. } = event {
                monitor.update(number, 0, &seen.collector.latest());
                signal = signal.or_else(|| monitor.stop());
                stop.store(signal.is_some(), Ordering::Relaxed);
            }
        });
        let Ended { outcome, tls, failure } = match ended {
            Ok(ended) => ended,
            Err(failure) => return (None, Err(explain(&self.url, &self.place, &failure))),
        };
        if outcome.intervals.is_empty() && outcome.idle.is_empty() {
            let failed = failure.map(|failure| explain(&self.url, &self.place, &failure));
            return (None, Err(failed.unwrap_or(Error::Interrupted(signal.unwrap_or(0)))));
        }
        let is_complete = failure.is_none() && signal.is_none();
        let ended = |failure: &Failure| format!("a connection that carried load ended: {failure}");
        let faults = failure.iter().map(ended).chain(faults(&outcome, is_complete)).collect();
        let mut run = seen.run(way, is_complete, faults);
        run.rpm = Some(responsiveness(&outcome, &self.settings, tls));
        let ways: Vec<Direction> = self.test.flows.iter().map(|flow| flow.direction).collect();
        run.doubts = doubts::of(&run, &ways, &[], &seen.machine, &[]);
        // While connections are added, a growing rate says nothing about the line.
        if outcome.goodput_confidence == Confidence::High {
            run.doubts.retain(|doubt| doubt.kind != goodqueue_report::DoubtKind::RateVaried);
        }
        let end = match (signal, failure) {
            (Some(signal), _) => Err(Error::Interrupted(signal)),
            (None, Some(failure)) => Err(explain(&self.url, &self.place, &failure)),
            (None, None) => Ok(()),
        };
        (Some(run), end)
    }
}

/// The test in the form of the record: one more connection with each interval, downloads before uploads.
fn test(settings: &Settings, step: Span, intervals: usize) -> Test {
    let test = Test {
        name: NAME.into(),
        about: "responsiveness (RPM): requests on new and on loaded connections, while HTTP/2 fills the line"
            .into(),
        idle: settings.idle,
        versions: Vec::new(),
        load: Span(settings.interval.0.saturating_mul(intervals as u64)),
        step,
        flows: Vec::new(),
        udp: Vec::new(),
        probes: Vec::new(),
        voip: Vec::new(),
        web: Vec::new(),
        dash: Vec::new(),
        talks: Vec::new(),
        rpm: Some(Plan { settings: *settings, tls: Tls::V1_3, cc: String::new(), host: 0 }),
    };
    test.with_rpm()
}

/// Passes the samples of an event to `take`. Connections are the `flows` flows from `first` on.
pub(crate) fn each_sample(event: &Event, first: u32, flows: usize, take: &mut dyn FnMut(Sample)) {
    let flow = |connection: u32| Some(first + connection).filter(|&flow| (flow as usize) < flows);
    match *event {
        Event::Probe { number, began, answer } => samples(answer, 0, number, began).for_each(take),
        Event::Lost { number, began, is_foreign } => take(lost(is_foreign, 0, number, began)),
        Event::Transferred { connection, t, bytes } => {
            flow(connection).into_iter().for_each(|flow| take(Sample::Received { flow, t, bytes }));
        }
        Event::Tcp { connection, t, info } => {
            flow(connection).into_iter().for_each(|flow| take(Sample::Tcp { flow, t, info }));
        }
        Event::Interval(_) | Event::Passed { .. } => {}
    }
}

/// The observations of a load.
struct LoadOutcome {
    collector: Collector,
    first: u32,
    flows: usize,
    tcp: BTreeMap<u32, TcpSample>,
    machine: Machine,
}

impl LoadOutcome {
    fn take(&mut self, event: &Event) {
        each_sample(event, self.first, self.flows, &mut |sample| {
            if let Sample::Tcp { flow, info, .. } = sample {
                self.tcp.insert(flow, info);
            }
            self.collector.sample(&sample);
        });
        if let Event::Passed { t } = *event {
            self.collector.pass(t);
            self.machine.look(t);
        }
    }

    fn run(&mut self, way: Direction, is_complete: bool, faults: Vec<String>) -> Run {
        let nothing =
            Test { flows: Vec::new(), probes: Vec::new(), ..test(&Settings::default(), Span(1), 1) };
        let mut collector = std::mem::replace(&mut self.collector, Collector::new("", &nothing));
        collector.finished(is_complete, faults, QueueEnd::default(), QueueEnd::default());
        let mut run = collector.into_run();
        run.loads = vec![direction(way)];
        let sum = |of: fn(&TcpSample) -> u64| self.tcp.values().map(of).sum::<u64>() as f64;
        let busy = sum(|info| info.busy_us);
        if busy > 0.0 {
            run.limits.push(SenderLimits {
                direction: direction(way),
                receiver: sum(|info| info.rwnd_limited_us) / busy,
                sender: sum(|info| info.sndbuf_limited_us) / busy,
            });
        }
        run
    }
}

/// A failure, with its cure.
fn explain(url: &str, place: &Server, failure: &Failure) -> Error {
    let at = place.address;
    let why = match failure {
        Failure::Connect(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => {
                format!(
                    "nobody listens at {at}; start `goodqueue server --https` there, or name another port"
                )
            }
            std::io::ErrorKind::TimedOut => {
                format!("no answer from {at}; does a firewall let the port through?")
            }
            _ => format!("{at}: {error}"),
        },
        Failure::Silent => format!("no answer from {at} within 10 s; does a firewall let the port through?"),
        Failure::Tls(error) => {
            let cure = match place.trust {
                Trust::Web => {
                    "add --fingerprint and what `goodqueue server` printed, or --insecure to take any certificate"
                }
                Trust::Pinned(_) => "is it the fingerprint that this server printed?",
                Trust::Anybody => "is it a server of HTTPS?",
            };
            return Error::Usage(format!("{url}: TLS: {error}; {cure}"));
        }
        Failure::NoHttp2 => "it does not speak HTTP/2, which the test needs".into(),
        Failure::Status(404) => {
            "it has no document at /.well-known/nq, so it is no server for this test (status 404)".into()
        }
        Failure::Status(status @ (429 | 503)) => {
            format!("it is busy (status {status}): try again in a minute")
        }
        other => other.to_string(),
    };
    Error::Machine(format!("{url}: {why}"))
}
