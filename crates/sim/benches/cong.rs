//! What congestion control costs per ACK: instructions, counted by callgrind.
//!
//! `cargo bench -p goodqueue-sim --bench cong` runs this program under `valgrind --tool=callgrind` and prints
//! a table. The connection holds up to 500 segments on a path of 40 ms, a loss each time it gets there, and
//! an ACK covers two segments.

use goodqueue::{Nanos, Rng, Span};
use goodqueue_sim::tcp::cc::{Cc, CcKind, RateSample, Window, Windowed};
use std::process::{Command, ExitCode};

const ACKS: u64 = 1_000_000;
const RTT: Span = Span::from_millis(40);

fn window() -> Window {
    Window {
        packets_out: 10,
        delivered: 1,
        is_cwnd_limited: true,
        max_packets_out: 10,
        srtt: RTT,
        rtt_min: Windowed::new(0, RTT.0),
        ..Window::new(10, 1448)
    }
}

#[inline(never)]
fn cost_growth(cc: &mut Cc, w: &mut Window, now: Nanos) {
    cc.cong_avoid(w, now, 2);
}

#[inline(never)]
fn cost_whole_ack(cc: &mut Cc, w: &mut Window, now: Nanos, rs: &RateSample) {
    cc.pkts_acked(w, now, 2, rs.rtt);
    if !cc.cong_control(w, now, rs) {
        cost_growth(cc, w, now);
    }
}

fn load(kind: CcKind) {
    let mut w = window();
    let mut cc = Cc::new(kind, Rng::stream(1, 1, "bbr"));
    cc.init(&mut w, Nanos::ZERO);
    let mut now = Nanos::ZERO;
    for _ in 0..ACKS {
        now += Span(RTT.0 * 2 / u64::from(w.snd_cwnd));
        let inflight = u64::from(w.snd_cwnd);
        w.snd_una += 2 * u64::from(w.mss);
        w.snd_nxt = w.snd_una + inflight * u64::from(w.mss);
        (w.packets_out, w.delivered, w.delivered_mstamp) = (w.snd_cwnd - 2, w.delivered + 2, now);
        let rs = RateSample {
            prior_delivered: w.delivered.saturating_sub(inflight),
            delivered: Some(w.snd_cwnd),
            interval: Some(RTT),
            rtt: Some(RTT),
            acked_sacked: 2,
            prior_in_flight: w.snd_cwnd,
            ..RateSample::default()
        };
        cost_whole_ack(&mut cc, &mut w, now, &rs);
        if w.snd_cwnd >= 500 {
            w.snd_ssthresh = cc.ssthresh(&w, now);
            w.snd_cwnd = w.snd_cwnd.min(w.snd_ssthresh).min(500);
        }
    }
}

/// Instructions per ACK in `function` and what it calls.
fn instructions(function: &str, kind: CcKind) -> Result<f64, String> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(std::env::current_exe().map_err(|error| error.to_string())?)
        .args(["--load", kind.name()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let collected: f64 =
        collected.and_then(|(_, n)| n.trim().parse().ok()).ok_or(format!("valgrind said: {text}"))?;
    Ok(collected / ACKS as f64)
}

fn count() -> Result<(), String> {
    println!("| | cong_avoid | whole ACK |\n| --- | --- | --- |");
    for kind in CcKind::ALL {
        let whole = instructions("cost_whole_ack", kind)?;
        match kind {
            CcKind::Bbr => println!("| {kind} | - | {whole:.1} |"),
            _ => println!("| {kind} | {:.1} | {whole:.1} |", instructions("cost_growth", kind)?),
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let args = std::env::args().collect::<Vec<_>>();
    let counted = match args.iter().position(|arg| arg == "--load") {
        Some(at) => args[at + 1].parse().map(load).map_err(|error| format!("{error}")),
        None => count(),
    };
    match counted {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
