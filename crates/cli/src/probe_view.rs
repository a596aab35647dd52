//! The live view of `goodqueue probe` on a terminal: both directions' delay and loss of the last minute, and
//! what happened. It takes a few lines below the prompt and is gone when the session is over.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Stderr};
use std::time::{Duration, Instant};

use goodqueue_path::client::Update;
use goodqueue_path::result::{Fate, Trips};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::probe_marks;

/// Lines that the view takes.
const HEIGHT: u16 = 16;
/// Lines of a chart.
const CHART: u16 = 3;
/// Events that are kept and shown.
const EVENTS: usize = 4;
/// Time between two pictures.
const STEP: Duration = Duration::from_millis(500);
/// Most probes that a picture is made of.
const MOST: usize = 30_000;
/// The rise of the one-way delay from which an event is printed, and the one that ends it, nanoseconds: grade
/// A ends at 30 ms.
const HIGH: i64 = 30_000_000;
const LOW: i64 = 15_000_000;
const SECOND: i64 = 1_000_000_000;

/// What happened, newest last.
#[derive(Debug, Default)]
pub(crate) struct Events {
    lines: VecDeque<String>,
    /// How many were told.
    told: u64,
    /// Losses of the second that is not over: when it began, up, down, unknown.
    lost: Option<(i64, [u32; 3])>,
    /// Since when each way's delay is high.
    high: [Option<i64>; 2],
    silent: Option<i64>,
    marks: usize,
}

/// A time since the start, as `0:01:30`.
fn clock(ns: i64) -> String {
    let seconds = ns.max(0) / SECOND;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

impl Events {
    fn tell(&mut self, at: i64, text: &str) {
        self.lines.push_back(format!("{}  {text}", clock(at)));
        self.told += 1;
        if self.lines.len() > EVENTS {
            self.lines.pop_front();
        }
    }

    /// The last of them, `n` at most.
    pub(crate) fn last(&self, n: u64) -> impl Iterator<Item = &String> {
        let skipped = self.lines.len().saturating_sub(usize::try_from(n).unwrap_or(usize::MAX));
        self.lines.iter().skip(skipped)
    }

    /// How many there have been.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// Takes note of what `trips` has taken.
    pub(crate) fn note(&mut self, update: &Update, trips: &Trips) {
        match *update {
            Update::Lost { seq, way, unanswered: false } => {
                let sent = trips.get(seq).map_or(0, |trip| trip.sent.mono - trips.start());
                let which = way.map_or(2, |way| way as usize);
                match &mut self.lost {
                    Some((since, lost)) if sent - *since < SECOND => lost[which] += 1,
                    _ => {
                        self.tell_losses();
                        let mut lost = [0; 3];
                        lost[which] = 1;
                        self.lost = Some((sent, lost));
                    }
                }
            }
            Update::Silent { at } => {
                let at = at.mono - trips.start();
                self.silent = Some(at);
                self.tell(at, "the server does not answer; asking for another session");
            }
            Update::Renewed { at, .. } => {
                let at = at.mono - trips.start();
                match self.silent.take() {
                    Some(since) => {
                        let seconds = (at - since) / SECOND;
                        self.tell(at, &format!("the server answers again, after {seconds} s"));
                    }
                    None => self.tell(at, "starting another session: the server's maximum length is reached"),
                }
            }
            _ => {}
        }
    }

    fn tell_losses(&mut self) {
        let Some((at, [up, down, unknown])) = self.lost.take() else { return };
        let parts = [(up, "up"), (down, "down"), (unknown, "in an unknown direction")];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        self.tell(at, &format!("lost {}", parts.join(", ")));
    }

    /// Looks at the last seconds; to be called twice a second or so. `now` is since the start.
    fn look(&mut self, ways: &[Vec<Column>; 2], trips: &Trips, now: i64) {
        if self.lost.is_some_and(|(since, _)| now - since > 2 * SECOND) {
            self.tell_losses();
        }
        for (index, name) in ["up", "down"].into_iter().enumerate() {
            // The last second that is over.
            let columns = &ways[index];
            let Some(rise) = columns.len().checked_sub(2).and_then(|last| columns[last].middle) else {
                continue;
            };
            match self.high[index] {
                None if rise > HIGH => {
                    self.high[index] = Some(now);
                    self.tell(now, &format!("{name}: packets wait {} ms longer", rise / 1_000_000));
                }
                Some(since) if rise < LOW => {
                    self.high[index] = None;
                    let seconds = (now - since) / SECOND;
                    self.tell(now, &format!("{name}: the delay is low again, after {seconds} s"));
                }
                _ => {}
            }
        }
        // A sentence is printed when it is new; its figures change all the time.
        let marks = probe_marks::findings(trips.marks());
        let changed: Vec<&String> = marks.iter().filter(|line| line.contains("came with")).collect();
        if changed.len() > self.marks {
            self.marks = changed.len();
            if let Some(line) = changed.last() {
                self.tell(now, line);
            }
        }
    }
}

/// A second of one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Column {
    /// The greatest rise of the one-way delay, ns.
    most: Option<i64>,
    /// The middle one.
    middle: Option<i64>,
    lost: u32,
    /// Lost on one of the ways.
    lost_unknown: u32,
}

/// The last `seconds` of each way; the last one is not over yet.
fn columns(trips: &Trips, now: i64, seconds: usize) -> [Vec<Column>; 2] {
    let mut ways = [vec![Column::default(); seconds], vec![Column::default(); seconds]];
    let of = |t: i64| {
        let ago = usize::try_from(now / SECOND - t / SECOND).ok()?;
        (ago < seconds).then(|| seconds - 1 - ago)
    };
    let mut rises = [vec![Vec::new(); seconds], vec![Vec::new(); seconds]];
    for point in trips.rises(MOST) {
        if let Some(column) = of(point.t) {
            rises[0][column].push(point.up);
            rises[1][column].push(point.down);
        }
    }
    for (way, rises) in ways.iter_mut().zip(&mut rises) {
        for (column, rises) in way.iter_mut().zip(rises) {
            rises.sort_unstable();
            (column.most, column.middle) = (rises.last().copied(), rises.get(rises.len() / 2).copied());
        }
    }
    let begin = trips.kept().len().saturating_sub(MOST);
    for trip in &trips.kept()[begin..] {
        let Some(column) = of(trip.sent.mono - trips.start()) else { continue };
        match trip.fate {
            Fate::LostUp => ways[0][column].lost += 1,
            Fate::LostDown => ways[1][column].lost += 1,
            Fate::Lost | Fate::Unanswered => ways.iter_mut().for_each(|way| way[column].lost_unknown += 1),
            Fate::Open => {}
        }
    }
    ways
}

/// One picture.
struct Picture<'a> {
    title: &'a str,
    ways: &'a [Vec<Column>; 2],
    now: i64,
    trips: &'a Trips,
    events: &'a Events,
}

#[allow(clippy::cast_precision_loss)]
fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// With as many decimals as are of use.
fn shown(ns: i64) -> String {
    if ns < 10_000_000 { format!("{:.2}", ms(ns)) } else { format!("{:.1}", ms(ns)) }
}

impl Picture<'_> {
    /// The greatest value of a chart: 1, 2 or 5 times a power of ten, at least 0.1 ms.
    fn scale(columns: &[Column]) -> i64 {
        let most = columns.iter().filter_map(|column| column.most).max().unwrap_or(0);
        let steps = (0..).flat_map(|power| [1, 2, 5].map(|step| step * 10_i64.pow(power) * 100_000));
        steps.take(20).find(|&step| step >= most).unwrap_or(i64::MAX)
    }

    fn way(&self, index: usize, area: Rect, buffer: &mut Buffer) {
        let (columns, name) = (&self.ways[index], ["up", "down"][index]);
        let scale = Picture::scale(columns);
        let now = columns.iter().rev().find_map(|column| column.middle);
        let most = columns.iter().filter_map(|column| column.most).max();
        let text = |value: Option<i64>| value.map_or_else(|| "–".into(), shown);
        let counts = self.trips.counts();
        let lost = [counts.lost_up, counts.lost_down][index];
        let colour = [Color::Cyan, Color::Magenta][index];
        let mut head = vec![
            Span::styled(format!("{name:<5}"), Style::new().fg(colour).bold()),
            format!("{} ms above its minimum now, {} at most in the last minute", text(now), text(most))
                .into(),
        ];
        head.push(Span::styled(
            format!("   lost {lost}"),
            if lost > 0 { Style::new().red().bold() } else { Style::new() },
        ));
        buffer.set_line(area.x, area.y, &Line::from(head), area.width);
        // The scale is to the left of the chart.
        let left = 8;
        buffer.set_string(area.x, area.y + 1, format!("{:>4} ms", ms(scale)), Style::new().dim());
        buffer.set_string(area.x, area.y + CHART, format!("{:>4}", 0), Style::new().dim());
        let data: Vec<Option<u64>> =
            columns.iter().map(|column| column.most.map(|ns| ns.max(0).unsigned_abs())).collect();
        let chart =
            Rect { x: area.x + left, y: area.y + 1, width: area.width.saturating_sub(left), height: CHART };
        Sparkline::default()
            .data(data)
            .max(scale.unsigned_abs())
            .style(Style::new().fg(colour))
            .absent_value_symbol(" ")
            .render(chart, buffer);
        buffer.set_string(area.x, area.y + CHART + 1, "lost", Style::new().dim());
        for (x, column) in (area.x + left..area.right()).zip(columns) {
            let (symbol, style) = match (column.lost, column.lost_unknown) {
                (0, 0) if column.most.is_none() => (" ", Style::new()),
                (0, 0) => ("·", Style::new().dim()),
                (0, _) => ("?", Style::new().yellow()),
                _ => ("x", Style::new().red().bold()),
            };
            buffer.set_string(x, area.y + CHART + 1, symbol, style);
        }
    }
}

impl Widget for Picture<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let last = self.trips.kept().iter().rev().find_map(|trip| self.trips.delays(trip).rtt);
        let trip = last.map_or_else(String::new, |ns| format!("; round trip {} ms", shown(ns)));
        let title = Line::from(vec![self.title.bold(), trip.into()]);
        buffer.set_line(area.x, area.y, &title, area.width);
        let height = CHART + 2;
        for index in [0, 1] {
            let y = area.y + 1 + height * u16::try_from(index).unwrap_or(0);
            if y + height <= area.bottom() {
                self.way(index, Rect { y, height, ..area }, buffer);
            }
        }
        let counts = self.trips.counts();
        let mut text = format!(
            "{}  {} sent, {} answered; lost {} up, {} down, {} unknown",
            clock(self.now),
            counts.sent,
            counts.received,
            counts.lost_up,
            counts.lost_down,
            counts.lost_unknown + counts.unanswered
        );
        for (n, what) in [(counts.duplicates, "duplicates"), (counts.reordered, "reordered")] {
            if n > 0 {
                text += &format!("; {n} {what}");
            }
        }
        let mut y = area.y + 1 + 2 * height;
        let rows = area.bottom().saturating_sub(y + 1);
        if y < area.bottom() {
            buffer.set_stringn(area.x, y, text, usize::from(area.width), Style::new());
        }
        for line in self.events.last(u64::from(rows)) {
            y += 1;
            buffer.set_stringn(area.x, y, line, usize::from(area.width), Style::new().dim());
        }
    }
}

/// The view, while there is one.
pub(crate) struct View {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    title: String,
    drawn: Option<Instant>,
}

impl View {
    /// A view, where the terminal can have one. It asks the terminal where the cursor is, so both outputs
    /// must be one.
    pub(crate) fn new(title: String) -> Option<View> {
        if !io::stdout().is_terminal() || !io::stderr().is_terminal() || !io::stdin().is_terminal() {
            return None;
        }
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options).ok()?;
        Some(View { terminal, title, drawn: None })
    }

    /// Draws, if it is time to. `now` is since the first probe.
    pub(crate) fn draw(&mut self, trips: &Trips, events: &mut Events, now: impl Fn() -> i64) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < STEP) {
            return;
        }
        self.drawn = Some(Instant::now());
        let now = now();
        // A terminal that is gone is no reason to stop measuring.
        let _ = self.terminal.draw(|frame| {
            let area = frame.area();
            let ways = columns(trips, now, usize::from(area.width.saturating_sub(8)).min(60));
            events.look(&ways, trips, now);
            let picture = Picture { title: &self.title, ways: &ways, now, trips, events };
            frame.render_widget(picture, area);
        });
    }

    /// Removes it, so that the next output replaces it.
    pub(crate) fn end(mut self) {
        let top = self.terminal.get_frame().area().y;
        let _ = self.terminal.clear();
        let _ = self.terminal.set_cursor_position((0, top));
        let _ = self.terminal.show_cursor();
    }
}

/// The same in words, where there is no terminal: for each minute a line, and all events.
#[derive(Debug, Default)]
pub(crate) struct Minutes {
    next: i64,
    told: u64,
}

impl Minutes {
    /// What there is to print. `now` is since the first probe.
    pub(crate) fn look(&mut self, trips: &Trips, events: &mut Events, now: i64) -> Vec<String> {
        if now < self.next {
            return Vec::new();
        }
        let is_first = self.next == 0;
        self.next = now - now % SECOND + SECOND;
        let ways = columns(trips, now, 60);
        events.look(&ways, trips, now);
        let mut out: Vec<String> = events.last(events.told() - self.told).cloned().collect();
        self.told = events.told();
        if !is_first && now / SECOND % 60 == 0 {
            let most = |way: &[Column]| way.iter().filter_map(|column| column.most).max().map_or(0.0, ms);
            let counts = trips.counts();
            out.push(format!(
                "{}  {} sent, {} answered, lost {} up, {} down; above its least in the last minute at most \
                 {:.1} ms up, {:.1} ms down",
                clock(now),
                counts.sent,
                counts.received,
                counts.lost_up,
                counts.lost_down,
                most(&ways[0]),
                most(&ways[1])
            ));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_path::client::Update;
    use goodqueue_probe::Direction;
    use goodqueue_probe::echo::wire::{IpFields, Layout, Packet};
    use goodqueue_probe::echo::{Echo, Stamp};

    const MS: i64 = 1_000_000;

    fn at(ns: i64) -> Stamp {
        Stamp { wall: ns, mono: ns }
    }

    /// 40 s of ten probes a second. From 20 s to 30 s packets wait 80 ms up; two are lost up at 25 s, and one
    /// down at 35 s.
    fn session() -> (Trips, Events) {
        let mut trips = Trips::new(Layout::FULL, IpFields { tos: 0, ttl: 64 });
        let mut events = Events::default();
        for seq in 0..400_u32 {
            let t = i64::from(seq) * 100 * MS;
            let wait = if (200..300).contains(&seq) { 80 * MS } else { 0 };
            let there = at(t + MS + wait);
            let packet =
                Packet { seq, received: seq, server_receive: there, server_send: there, ..Packet::default() };
            let received = at(t + 2 * MS + wait);
            let echo = Echo { packet, sent: Some(at(t)), received, reordered: false, duplicate: false };
            let update = match seq {
                250 | 251 => Update::Lost { seq, way: Some(Direction::Up), unanswered: false },
                350 => Update::Lost { seq, way: Some(Direction::Down), unanswered: false },
                _ => Update::Reply { echo, size: 60, hardware: None, tos: Some(0), ttl: Some(64) },
            };
            for update in [Update::Sent { seq, at: at(t), size: 60 }, update] {
                trips.take(&update);
                events.note(&update, &trips);
            }
            if seq % 5 == 0 {
                events.look(&columns(&trips, t, 60), &trips, t);
            }
        }
        (trips, events)
    }

    fn drawn(width: u16, height: u16) -> String {
        let (trips, events) = session();
        let now = 40 * SECOND - 1;
        let ways = columns(&trips, now, usize::from(width.saturating_sub(8)).min(60));
        let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height });
        let picture =
            Picture { title: "far (192.0.2.7:2112)", ways: &ways, now, trips: &trips, events: &events };
        picture.render(buffer.area, &mut buffer);
        let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn delay_loss_and_events_are_seen() {
        let text = drawn(80, HEIGHT);
        for part in [
            "up   0.00 ms above its minimum now, 80.0 at most in the last minute   lost 2",
            "down 0.00 ms above its minimum now, 0.00 at most in the last minute   lost 1",
            " 100 ms",
            "far (192.0.2.7:2112); round trip 2.00 ms",
            "0:00:39  400 sent, 397 answered; lost 2 up, 1 down, 0 unknown",
            "0:00:25  lost 2 up",
            "up: packets wait 80 ms longer",
            "up: the delay is low again, after 10 s",
            "0:00:35  lost 1 down",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        // 60 columns of a second: the load is the ten of them that end ten before the last.
        let rows: Vec<&str> = text.lines().collect();
        let loaded: Vec<usize> =
            rows[4].char_indices().filter(|(_, c)| *c == '█').map(|(at, _)| at).collect();
        assert_eq!(loaded.len(), 10, "{text}");
        assert_eq!(rows[5].matches('x').count(), 1, "{text}");
        assert_eq!(rows[10].matches('x').count(), 1, "{text}");
    }

    #[test]
    fn any_terminal_is_large_enough() {
        for (width, height) in [(1, 1), (8, 3), (20, 7), (40, 12), (300, 16)] {
            assert_eq!(drawn(width, height).lines().count(), usize::from(height));
        }
    }

    #[test]
    fn without_a_terminal_there_is_a_line_a_minute() {
        let (trips, _) = session();
        let (mut minutes, mut events, mut lines) = (Minutes::default(), Events::default(), Vec::new());
        for now in 0..130 {
            lines.extend(minutes.look(&trips, &mut events, now * SECOND));
        }
        let told = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert_eq!((told("400 sent, 397 answered"), lines.len()), (2, 4), "{lines:?}");
    }
}
