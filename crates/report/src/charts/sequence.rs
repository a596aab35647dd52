//! The time-sequence graph of a traced flow around its first loss, in the style of xplot.

use super::frame::{Frame, Sides};
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, text_width};
use super::style::{Ink, Type};
use crate::trace::{Event, Leg, Trace, What};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 470.0;
/// If nothing was lost, this first part of the flow is drawn, ns.
const OPENING: u64 = 200_000_000;

/// What the graph distinguishes, by colour and by name.
#[derive(Clone, Copy)]
enum Mark {
    Retransmission,
    Sent,
    Acknowledged,
    Sacked,
    Lost,
}

impl Mark {
    const ALL: [Mark; 5] = [Mark::Sent, Mark::Retransmission, Mark::Acknowledged, Mark::Sacked, Mark::Lost];

    /// Which of the charts' colours.
    fn colour(self) -> usize {
        match self {
            Mark::Retransmission => 0,
            Mark::Sent => 1,
            Mark::Acknowledged => 2,
            Mark::Sacked => 3,
            Mark::Lost => 7,
        }
    }

    fn ink(self) -> Ink {
        Ink::Line { queue: self.colour(), shade: 0 }
    }

    fn words(self) -> &'static str {
        match self {
            Mark::Retransmission => "R sent again",
            Mark::Sent => "sent",
            Mark::Acknowledged => "acknowledged",
            Mark::Sacked => "SACK",
            Mark::Lost => "× dropped",
        }
    }
}

/// The time window from well before the first loss of data to well after its repair, ns.
fn window(events: &[&Event]) -> (u64, u64) {
    let opening = events.first().map_or(0, |event| event.at_ns);
    let lost = events.iter().find(|e| e.leg == Leg::Data && matches!(e.what, What::Dropped(_)));
    let repair = lost.and_then(|lost| {
        let mends = |e: &&&Event| {
            let is_news = e.leg == Leg::Ack && e.what == What::Delivered && e.at_ns > lost.at_ns;
            is_news && e.segment.ack > lost.segment.seq
        };
        events.iter().find(mends).map(|mended| (lost.at_ns, mended.at_ns))
    });
    repair.map_or((opening, opening.saturating_add(OPENING)), |(lost, mended)| {
        let around = (mended - lost) / 2;
        (lost.saturating_sub(around), mended.saturating_add(around))
    })
}

/// Bytes, in kB (1000 bytes).
fn kilobytes(number: u64) -> f64 {
    number as f64 / 1e3
}

/// Draws it.
pub(crate) fn draw(trace: &Trace) -> Scene {
    let all = trace.by_time();
    let (from, to) = window(&all);
    let shown: Vec<&Event> = all.into_iter().filter(|e| (from..=to).contains(&e.at_ns)).collect();
    let numbers = shown.iter().map(|e| match e.leg {
        Leg::Data => (e.segment.seq, e.segment.end()),
        Leg::Ack => (e.segment.ack, e.segment.ack),
    });
    let (low, high) = numbers.fold((u64::MAX, 0), |(low, high), (seq, end)| (low.min(seq), high.max(end)));
    let frame = frame((from, to), (low.min(high), high));
    let mut scene =
        Scene::new(WIDTH, HEIGHT, format!("{}, {}: time-sequence graph", trace.flow, trace.queue));
    scene.text(Type::Title, (16.0, 30.0), Anchor::Start, format!("{}, {}", trace.flow, trace.queue));
    legend(&mut scene);
    frame.draw(&mut scene, Sides { x: Some("time, s"), y: Some("sequence number, kB") });
    for mark in [Mark::Sacked, Mark::Sent, Mark::Acknowledged, Mark::Retransmission, Mark::Lost] {
        let lines = lines(mark, &shown, &frame);
        if let Mark::Retransmission = mark {
            for &(x, y) in lines.iter().filter_map(|line| line.last()) {
                scene.text(Type::Label(mark.colour()), (x, y - 5.0), Anchor::Middle, "R");
            }
        }
        scene.shape(mark.ink(), false, lines);
    }
    scene
}

fn frame(time: (u64, u64), numbers: (u64, u64)) -> Frame {
    let (left, top, width, height) = (84.0, 72.0, WIDTH - 84.0 - 24.0, HEIGHT - 72.0 - 52.0);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let x = Scale::linear(seconds(time.0), seconds(time.1), left, left + width);
    let y = Scale::linear(kilobytes(numbers.0), kilobytes(numbers.1), top + height, top);
    Frame { left, top, width, height, x, y }
}

fn legend(scene: &mut Scene) {
    let mut x = 16.0;
    for mark in Mark::ALL {
        let style = Type::Label(mark.colour());
        scene.text(style, (x, 54.0), Anchor::Start, mark.words());
        x += text_width(style, mark.words()) + 18.0;
    }
}

/// All lines in one colour.
fn lines(mark: Mark, events: &[&Event], frame: &Frame) -> Vec<Vec<Point>> {
    let at = |e: &Event, number: u64| frame.at(e.at_ns as f64 / 1e9, kilobytes(number));
    let upright = |e: &Event, [low, high]: [u64; 2]| vec![at(e, low), at(e, high)];
    let is = |e: &Event, leg, what| e.leg == leg && e.what == what;
    let sent = |again: bool| {
        let chosen =
            events.iter().filter(move |e| is(e, Leg::Data, What::Sent) && e.segment.retransmitted == again);
        chosen.map(|e| upright(e, [e.segment.seq, e.segment.end()])).collect()
    };
    let acks = || events.iter().filter(|e| is(e, Leg::Ack, What::Delivered));
    match mark {
        Mark::Sent => sent(false),
        Mark::Retransmission => sent(true),
        Mark::Sacked => acks().flat_map(|e| e.segment.sack_blocks().map(|block| upright(e, block))).collect(),
        Mark::Acknowledged => {
            let points = acks().map(|e| at(e, e.segment.ack)).collect::<Vec<_>>();
            let steps = points.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
            vec![points.first().copied().into_iter().chain(steps).collect()]
        }
        Mark::Lost => {
            let lost = events.iter().filter(|e| e.leg == Leg::Data && matches!(e.what, What::Dropped(_)));
            lost.flat_map(|e| {
                let (x, y) = at(e, e.segment.seq);
                [vec![(x - 5.0, y - 5.0), (x + 5.0, y + 5.0)], vec![(x - 5.0, y + 5.0), (x + 5.0, y - 5.0)]]
            })
            .collect()
        }
    }
}
