//! Tests over real sockets: kernel TCP as load, UDP probes with kernel receive times. Systems other than
//! Linux lack some of this: [`LACKS`].
//!
//! [`Server::run`] is the far end, [`run_client`] the near end. Both block until their work is done, use the
//! network namespace of the calling thread, and emit [`crate::Sample`]s. On one machine they share a
//! [`SharedClock`], so all samples have one time axis and one-way delays are exact.
//!
//! * The receiving application counts goodput, in steps on an absolute grid.
//! * A flow ends by abort (RST): data queued in the sender's socket is discarded, data in the network still
//!   arrives. So the goodput of an upload may continue after its stop until the queue is empty.
//! * The round-trip time of a probe is the time from the clock reading just before the send to the kernel's
//!   receive time, minus the time within the server. It includes the client's send call, but not its wake-up.
//! * A page's TCP connections are the kernel's. TLS is modelled by its round trips and sizes
//!   ([`crate::web::TLS`]), without cryptography. A DNS query is an echo of 60 bytes each way.
//!
//! ```
//! use std::sync::{atomic::{AtomicBool, Ordering}, mpsc};
//! use goodqueue::Span;
//! use goodqueue_probe::net::{PathState, Server, SharedClock, run_client};
//! use goodqueue_probe::{Params, Sample, resolve};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let [length, step, idle] = [100, 20, 50].map(Span::from_millis);
//! let params = Params { length, step, idle, ..Params::default() };
//! let test = resolve("tcp_2down", &params)?;
//! let hosts = ["127.0.0.1".parse()?];
//! let server = Server::bind(&hosts, 0)?;
//! let clock = SharedClock::starting_in(test.idle + Span::from_millis(20));
//! let (sink, samples) = mpsc::channel();
//! let stop = AtomicBool::new(false);
//! let client = std::thread::scope(|scope| {
//!     let far = scope.spawn(|| server.run(&clock, &sink.clone(), &stop));
//!     let path = PathState::default();
//!     let servers = hosts.map(|host| server.far(host));
//!     let client = run_client(&test, &servers, &clock, &path, &sink, &stop);
//!     stop.store(true, Ordering::Relaxed);
//!     far.join().expect("the server does not panic").and(client)
//! # })?;
//! # drop(sink);
//! # let probes = samples.iter().filter(|sample| matches!(sample, Sample::Echo { .. })).count();
//! # assert!(probes > 5 && client.flows.iter().all(|flow| flow.error.is_none()));
//! # Ok(())
//! # }
//! ```

#[forbid(unsafe_code)]
mod agenda;
#[forbid(unsafe_code)]
mod answer;
#[forbid(unsafe_code)]
mod browse;
#[forbid(unsafe_code)]
mod client;
#[forbid(unsafe_code)]
mod clock;
#[cfg(all(test, target_os = "linux"))]
mod control_tests;
#[forbid(unsafe_code)]
mod datagrams;
#[forbid(unsafe_code)]
mod error;
#[forbid(unsafe_code)]
mod flood;
#[forbid(unsafe_code)]
mod flow;
#[doc(hidden)]
#[forbid(unsafe_code)]
pub mod fuzzing;
#[forbid(unsafe_code)]
mod header;
#[forbid(unsafe_code)]
mod load;
#[forbid(unsafe_code)]
mod probe;
#[forbid(unsafe_code)]
mod quic;
#[forbid(unsafe_code)]
mod reflect;
#[forbid(unsafe_code)]
mod request;
#[forbid(unsafe_code)]
mod server;
#[forbid(unsafe_code)]
mod session;
#[cfg(target_os = "linux")]
mod sys;
// The same functions for all other systems.
#[cfg(not(target_os = "linux"))]
#[path = "sys_portable.rs"]
mod sys;
#[forbid(unsafe_code)]
mod talk;
#[forbid(unsafe_code)]
mod udp;
#[forbid(unsafe_code)]
mod waited;

pub use client::{
    ClientSummary, LoadSummary, available_congestion_controls, check, check_cc, default_congestion_control,
    run_client, run_load,
};
pub use clock::{ClockWatch, SharedClock};
pub use datagrams::{DatagramFeeder, DatagramServer};
pub use error::NetError;
pub use flood::{FloodLimits, Floods};
pub use load::FlowOutcome;
pub use probe::{PathState, ProbeOutcome};
pub use quic::{QuicLoad, QuicServer};
pub use server::{ServedFlow, Server, ServerSummary};
pub use session::{Far, Feeder, FlowLimits, FlowServer, Outbox, PREFACE_LEN, QuicFar, SessionId};
pub use sys::{AsFd, AsRawFd, BorrowedFd, EMSGSIZE, LACKS, RawFd, WHOLE};
#[cfg(not(target_os = "linux"))]
pub use sys::{interrupted, watch_interrupts};
pub use udp::{Arrival, Icmp, Transmission, Udp, bind_tcp, random_u64, set_congestion_control, wait};

/// What a system lacks, each as words that follow "not available:". [`LACKS`] has this system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacks {
    /// For probes.
    pub probes: &'static [&'static str],
    /// For tests with load, in addition.
    pub loads: &'static [&'static str],
}

impl Lacks {
    /// What probes lack, a sentence each.
    pub fn of_probes(&self) -> impl Iterator<Item = String> {
        self.probes.iter().map(not_available)
    }

    /// What tests with load lack, a sentence each.
    pub fn of_tests(&self) -> impl Iterator<Item = String> {
        self.probes.iter().chain(self.loads).map(not_available)
    }
}

fn not_available(what: &&str) -> String {
    format!("not available on {}: {what}", std::env::consts::OS)
}

/// Requests real-time scheduling (`SCHED_FIFO`, priority 1) for the calling thread, and returns whether it
/// was granted. A thread that will drop its privileges calls this first, and then [`run_client`] or
/// [`Server::run`]: their probe threads inherit the priority, and all others return to that of ordinary
/// threads.
pub fn urgent_thread() -> bool {
    sys::urgent_thread()
}

/// Lets a TCP socket take data only while it holds fewer than `bytes` that it has not sent
/// (`TCP_NOTSENT_LOWAT`), so that an application's data does not wait within its own host.
///
/// # Errors
/// The kernel's.
pub fn bound_unsent(socket: &impl AsFd, bytes: u32) -> std::io::Result<()> {
    sys::bound_unsent(socket.as_fd(), bytes)
}

/// The kernel's information about a TCP socket (`TCP_INFO`).
///
/// # Errors
/// The kernel's.
pub fn tcp_sample(socket: &impl AsFd) -> std::io::Result<crate::TcpSample> {
    sys::tcp_info(socket.as_fd()).map(|info| flow::parse_tcp_info(&info))
}

/// Nanoseconds of a span.
fn ns(span: goodqueue::Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

/// The error of a connection as text.
fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "closed by the other end".into(),
        _ => error.to_string(),
    }
}
