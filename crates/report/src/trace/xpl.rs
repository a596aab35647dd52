//! The time-sequence graph of a flow as its sender sees it, for xplot and programs that read its files.
//!
//! As in tcptrace's graphs, there is a white line with arrows from the first to the last byte of each segment
//! sent; it is red with an `R` above for a retransmission. Below is the green line of acknowledged data, with
//! a tick for each duplicate. Above is the yellow line of the receiver's window. Purple lines are SACK
//! blocks. The graph also shows what tcptrace cannot know: an orange x where and when a segment was dropped,
//! a pink diamond where it was marked CE, each with its reason below, and a green x for an acknowledgement
//! that was dropped.

use std::io::{self, Write};

use super::{Event, FIN, Leg, RST, SYN, Segment, Trace, What};

/// Writes the graph.
///
/// # Errors
/// The errors of `out`.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let [sender, receiver] = trace.ends;
    let queue = one_line(&trace.queue);
    writeln!(out, "timeval unsigned")?;
    writeln!(out, "title\n{sender}_==>_{receiver} {queue} (time sequence graph)")?;
    writeln!(out, "xlabel\ntime\nylabel\nsequence number")?;
    let mut graph = Graph { out, colour: "", acked: None };
    for event in trace.by_time() {
        graph.event(event)?;
    }
    writeln!(out, "go")
}

fn one_line(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The state from the last acknowledgement.
#[derive(Clone, Copy)]
struct Acked {
    at: u64,
    ack: u64,
    edge: u64,
}

struct Graph<'a> {
    out: &'a mut dyn Write,
    colour: &'static str,
    acked: Option<Acked>,
}

impl Graph<'_> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let Event { at_ns: at, segment, .. } = event;
        match (event.leg, event.what) {
            (Leg::Data, What::Sent) => self.sent(*at, segment),
            (Leg::Data, What::Dropped(reason)) => {
                self.point("orange", "x", *at, segment.seq)?;
                self.words("orange", "b", *at, segment.seq, reason)
            }
            (Leg::Data, What::Marked(reason)) => {
                self.point("pink", "diamond", *at, segment.seq)?;
                self.words("pink", "b", *at, segment.seq, reason)
            }
            (Leg::Ack, What::Delivered) => self.acknowledged(*at, segment),
            (Leg::Ack, What::Dropped(_)) => self.point("green", "x", *at, segment.ack),
            (Leg::Data, What::Delivered) | (Leg::Ack, What::Sent | What::Marked(_)) => Ok(()),
        }
    }

    fn sent(&mut self, at: u64, segment: &Segment) -> io::Result<()> {
        let (seq, end) = (segment.seq, segment.end());
        let colour = if segment.retransmitted { "red" } else { "white" };
        if end != seq {
            self.point(colour, "darrow", at, seq)?;
            self.point(colour, "uarrow", at, end)?;
            self.upright(colour, at, seq, end)?;
        }
        for (flag, words) in [(SYN, "SYN"), (FIN, "FIN"), (RST, "RST")] {
            if segment.has(flag) {
                self.words(colour, "a", at, end, words)?;
            }
        }
        if segment.retransmitted { self.words(colour, "a", at, end, "R") } else { Ok(()) }
    }

    fn acknowledged(&mut self, at: u64, segment: &Segment) -> io::Result<()> {
        for [start, end] in segment.sack_blocks() {
            self.upright("purple", at, start, end)?;
        }
        let ack = segment.ack;
        let edge = ack.saturating_add(u64::from(segment.window));
        if let Some(before) = self.acked.replace(Acked { at, ack, edge }) {
            self.step("green", (before.at, before.ack), (at, ack))?;
            if before.ack == ack {
                self.point("green", "dtick", at, ack)?;
            }
            self.step("yellow", (before.at, before.edge), (at, edge))?;
        }
        Ok(())
    }

    /// A horizontal line to a new time, then a vertical one to a new number.
    fn step(&mut self, colour: &'static str, from: (u64, u64), to: (u64, u64)) -> io::Result<()> {
        self.ink(colour)?;
        let (before, now, number) = (Time(from.0), Time(to.0), Number(from.1));
        writeln!(self.out, "line {before} {number} {now} {number}")?;
        if from.1 == to.1 { Ok(()) } else { self.upright(colour, to.0, from.1, to.1) }
    }

    /// A vertical line; one that wraps around the number space is drawn in two parts.
    fn upright(&mut self, colour: &'static str, at: u64, from: u64, to: u64) -> io::Result<()> {
        self.ink(colour)?;
        let (time, low, high) = (Time(at), from.min(to), from.max(to));
        if low >> 32 == high >> 32 {
            return writeln!(self.out, "line {time} {} {time} {}", Number(from), Number(to));
        }
        writeln!(self.out, "line {time} {} {time} {}", Number(low), u32::MAX)?;
        writeln!(self.out, "line {time} 0 {time} {}", Number(high))
    }

    fn point(&mut self, colour: &'static str, shape: &str, at: u64, number: u64) -> io::Result<()> {
        self.ink(colour)?;
        writeln!(self.out, "{shape} {} {}", Time(at), Number(number))
    }

    /// Text above (`a`) or below (`b`) a point.
    fn words(
        &mut self,
        colour: &'static str,
        place: &str,
        at: u64,
        number: u64,
        words: &str,
    ) -> io::Result<()> {
        self.ink(colour)?;
        writeln!(self.out, "{place}text {} {}\n{words}", Time(at), Number(number))
    }

    /// A colour applies until the next one.
    fn ink(&mut self, colour: &'static str) -> io::Result<()> {
        if self.colour == colour {
            return Ok(());
        }
        self.colour = colour;
        writeln!(self.out, "{colour}")
    }
}

/// Seconds and microseconds: xplot's `timeval`.
struct Time(u64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1000)
    }
}

/// A sequence number as in the header.
struct Number(u64);

impl std::fmt::Display for Number {
    #[allow(clippy::cast_possible_truncation)]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 as u32)
    }
}
