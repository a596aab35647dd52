//! Measured values as dots with their intervals, published ones as diamonds, a row each.

use super::arms;
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, dot, text_width, wrap, wrap_at};
use super::style::{Ink, Type};
use crate::dots::{Dot, DotMark, DotPanel, DotRow, Dots};

const WIDTH: f64 = 1040.0;
const MARGIN: f64 = 16.0;
/// Height of a row of one line, and of each further line.
const ROW: f64 = 20.0;
const LINE: f64 = 14.0;
/// Widest names, and widest words behind the dots.
const NAMES: f64 = 430.0;
const WORDS: f64 = 260.0;
/// Radius of a measured value's dot.
const DOT: f64 = 3.6;
/// Half the height of a stroke.
const STROKE: f64 = 4.5;
/// The same of the stroke at the base of a row.
const BASE: f64 = 7.0;
/// Half the diagonal of the mark of a value that ours is compared with.
const MARK: f64 = 5.0;
/// Width of the rim of a hollow mark, of that.
const RIM: f64 = 2.0;
/// Height of a line of a panel's title.
const TITLE: f64 = 17.0;
/// The colour of ranges: grey.
const GREY: usize = 5;

pub(crate) fn draw(dots: &Dots) -> Scene {
    let mut scene = Scene::new(WIDTH, 0.0, dots.headline.clone());
    let mut y = 30.0;
    for (style, words, step) in [(Type::Title, &dots.headline, 24.0), (Type::Subtitle, &dots.about, 18.0)] {
        for line in wrap(style, words, WIDTH - 2.0 * MARGIN) {
            scene.text(style, (MARGIN, y), Anchor::Start, line);
            y += step;
        }
    }
    y = legend(&mut scene, dots, y);
    let rows = || dots.panels.iter().flat_map(|panel| &panel.rows);
    let widest = |style, words: fn(&DotRow) -> &str, most: f64| {
        rows().map(|row| text_width(style, words(row))).fold(0.0, f64::max).min(most)
    };
    let left = MARGIN + widest(Type::Tick, |row| &row.name, NAMES) + 14.0;
    let right = WIDTH - MARGIN - widest(Type::Tick, |row| &row.words, WORDS) - 14.0;
    for panel in &dots.panels {
        y = draw_panel(&mut scene, panel, (left, right), y + 6.0);
    }
    scene.height = y + 4.0;
    arms::foot(&mut scene, &dots.arms, (MARGIN, WIDTH - MARGIN));
    scene
}

/// Says what the marks in the picture are, in a line at `y`; returns where the next one is.
fn legend(scene: &mut Scene, dots: &Dots, y: f64) -> f64 {
    let rows = dots.panels.iter().flat_map(|panel| &panel.rows);
    let marks: Vec<DotMark> = rows.flat_map(|row| &row.dots).filter_map(|dot| dot.mark).collect();
    let mut x = MARGIN;
    for (is_published, words) in [(true, PUBLISHED), (false, NOT_PUBLISHED)] {
        if marks.iter().any(|mark| mark.is_published == is_published) {
            mark(scene, (x + MARK, y - 4.0), is_published);
            scene.text(Type::Subtitle, (x + 2.0 * MARK + 6.0, y), Anchor::Start, words);
            x += 2.0 * MARK + 6.0 + text_width(Type::Subtitle, words) + 22.0;
        }
    }
    if marks.is_empty() { y } else { y + 18.0 }
}

/// What filled and hollow marks are.
const PUBLISHED: &str = "a measurement that others published";
const NOT_PUBLISHED: &str = "a model, our expectation, or a value that a parameter was set to give";

fn mark(scene: &mut Scene, at: Point, is_published: bool) {
    scene.shape(Ink::Clash, true, vec![diamond(at, MARK)]);
    if !is_published {
        scene.shape(Ink::Paper, true, vec![diamond(at, MARK - RIM)]);
    }
}

/// The lines of a text beside the dots.
fn lines(words: &str, room: f64) -> Vec<String> {
    wrap_at(Type::Tick, words, room)
}

fn height(row: &DotRow) -> f64 {
    let most = lines(&row.name, NAMES).len().max(lines(&row.words, WORDS).len());
    ROW + LINE * most.saturating_sub(1) as f64
}

/// Draws a panel from `top`; returns where it ends.
fn draw_panel(scene: &mut Scene, panel: &DotPanel, (left, right): (f64, f64), top: f64) -> f64 {
    let (from, to) = panel.ends;
    let x = if panel.log { Scale::log(from, to, left, right) } else { Scale::linear(from, to, left, right) };
    let mut first = top + 22.0;
    for (number, line) in wrap(Type::Result, &panel.title, WIDTH - 2.0 * MARGIN).into_iter().enumerate() {
        first = top + 22.0 + TITLE * number as f64;
        scene.text(Type::Result, (MARGIN, first - 12.0), Anchor::Start, line);
    }
    // The words of a line are above the rows.
    first += if panel.line.is_some() { 14.0 } else { 0.0 };
    let bottom = first + panel.rows.iter().map(height).sum::<f64>() + 4.0;
    let mut taken = f64::NEG_INFINITY;
    for (value, words) in x.ticks(8) {
        let at = x.at(value);
        scene.line(Ink::Grid, (at, first - 4.0), (at, bottom));
        let half = text_width(Type::Tick, &words) / 2.0;
        if at - half > taken + 4.0 {
            scene.line(Ink::Axis, (at, bottom), (at, bottom + 4.0));
            scene.text(Type::Tick, (at, bottom + 17.0), Anchor::Middle, words);
            taken = at + half;
        }
    }
    scene.line(Ink::Axis, (left, bottom), (right, bottom));
    if let Some((value, words)) = &panel.line {
        let at = x.at(*value).clamp(left, right);
        scene.line(Ink::Limit, (at, first - 4.0), (at, bottom));
        // Above the axis, on the side where there is more room.
        let (place, anchor) =
            if at > f64::midpoint(left, right) { (at - 5.0, Anchor::End) } else { (at + 5.0, Anchor::Start) };
        scene.text(Type::Note, (place, first - 5.0), anchor, words.clone());
    }
    let mut y = first;
    for row in &panel.rows {
        draw_row(scene, row, &x, (left, right), y + height(row) / 2.0);
        y += height(row);
    }
    bottom + 28.0
}

fn draw_row(scene: &mut Scene, row: &DotRow, x: &Scale, (left, right): (f64, f64), y: f64) {
    let at = |value: f64| x.at(value).clamp(left, right);
    for (x, anchor, words) in [
        (left - 12.0, Anchor::End, lines(&row.name, NAMES)),
        (right + 12.0, Anchor::Start, lines(&row.words, WORDS)),
    ] {
        let first = y + 4.0 - LINE * words.len().saturating_sub(1) as f64 / 2.0;
        for (number, line) in words.into_iter().enumerate() {
            scene.text(Type::Tick, (x, first + LINE * number as f64), anchor, line);
        }
    }
    if let Some((least, most)) = row.band {
        let (from, to) = (at(least), at(most));
        let area = vec![(from, y - 8.0), (to, y - 8.0), (to, y + 8.0), (from, y + 8.0)];
        scene.shape(Ink::Band { queue: GREY }, true, vec![area]);
    }
    if let Some(base) = row.base {
        scene.line(Ink::Limit, (at(base), y - BASE), (at(base), y + BASE));
    }
    for &other in &row.others {
        scene.line(Ink::Axis, (at(other), y - STROKE), (at(other), y + STROKE));
    }
    if let [Dot { at: Some(first), .. }, Dot { at: Some(second), .. }] = row.dots[..] {
        scene.line(Ink::Axis, (at(first), y), (at(second), y));
    }
    for Dot { at: ours, bar, mark: compared, colour } in &row.dots {
        if let Some(compared) = *compared {
            mark(scene, (at(compared.at), y), compared.is_published);
        }
        if let Some((low, high)) = *bar {
            scene.line(Ink::Line { queue: *colour, shade: 0 }, (at(low), y), (at(high), y));
        }
        if let Some(ours) = *ours {
            scene.shape(Ink::Block { queue: *colour }, true, vec![dot((at(ours), y), DOT)]);
        }
    }
}

fn diamond((x, y): Point, half: f64) -> Vec<Point> {
    vec![(x - half, y), (x, y - half), (x + half, y), (x, y + half)]
}

#[cfg(test)]
mod tests {
    use super::super::scene::Item;
    use super::*;

    fn published(at: f64) -> DotMark {
        DotMark { at, is_published: true }
    }

    /// How many marks there are, how many of them are hollow, and the texts.
    fn drawn(rows: Vec<DotRow>) -> (usize, usize, Vec<(f64, String)>) {
        let panel = DotPanel { ends: (0.0, 10.0), rows, ..DotPanel::default() };
        let scene = draw(&Dots { panels: vec![panel], ..Dots::default() });
        let count = |wanted: Ink| {
            scene
                .items
                .iter()
                .filter(|item| matches!(item, Item::Shape { ink, .. } if *ink == wanted))
                .count()
        };
        let text = |item: &Item| match item {
            Item::Text { at, words, .. } => Some((at.1, words.clone())),
            _ => None,
        };
        (count(Ink::Clash), count(Ink::Paper), scene.items.iter().filter_map(text).collect())
    }

    /// Each kind of mark has a line in the legend, and only if it is there.
    #[test]
    fn what_is_no_published_measurement_is_hollow() {
        let row = |is_published| {
            let mark = Some(DotMark { at: 5.0, is_published });
            DotRow { dots: vec![Dot { at: Some(4.0), mark, ..Dot::default() }], ..DotRow::default() }
        };
        let said = |texts: &[(f64, String)], words: &str| texts.iter().any(|(_, text)| text == words);
        let (all, hollow, texts) = drawn(vec![row(false), row(false)]);
        assert_eq!((all, hollow), (3, 3), "two, and one in the legend");
        assert!(said(&texts, NOT_PUBLISHED) && !said(&texts, PUBLISHED), "{texts:?}");
        let (all, hollow, texts) = drawn(vec![row(true), row(false)]);
        assert_eq!((all, hollow), (4, 2), "one of each, and both in the legend");
        assert!(said(&texts, NOT_PUBLISHED) && said(&texts, PUBLISHED), "{texts:?}");
        assert_eq!(drawn(vec![DotRow::default()]).0, 0);
    }

    /// A long name has several lines with every word of it, and the next row is below them.
    #[test]
    fn a_long_name_is_wrapped_and_not_cut() {
        let long = "95th percentile of pings: byte queue limits below queues by flow with CoDel, in firmware that makes \
                    the driver wait for 1424 packets (21 ms were published)";
        let row = |name: &str| DotRow { name: name.into(), ..DotRow::default() };
        let (_, _, texts) = drawn(vec![row(long), row("next")]);
        let below = |words: &str| texts.iter().find(|(_, text)| text == words).map(|(y, _)| *y);
        let of_long: Vec<&(f64, String)> =
            texts.iter().filter(|(_, text)| text.contains(' ') && long.contains(text.as_str())).collect();
        assert!(of_long.len() > 1, "{texts:?}");
        let together: Vec<&str> = of_long.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(together.join(" "), long);
        let last = of_long.last().map_or(0.0, |(y, _)| *y);
        assert!(below("next").expect("a row") >= last + LINE, "{texts:?}");
    }

    fn right_end(scene: &Scene, of: fn(&Ink) -> bool) -> Option<f64> {
        let points = scene.items.iter().filter_map(|item| match item {
            Item::Shape { ink, parts, .. } if of(ink) => Some(parts.iter().flatten().map(|point| point.0)),
            _ => None,
        });
        points.flatten().reduce(f64::max)
    }

    #[test]
    fn what_is_outside_the_axis_is_drawn_at_its_end() {
        let dot = Dot { at: Some(100.0), bar: Some((50.0, 1000.0)), mark: Some(published(1.0)), colour: 0 };
        let row = DotRow { dots: vec![dot], ..DotRow::default() };
        let panel = DotPanel { ends: (0.0, 10.0), rows: vec![row], ..DotPanel::default() };
        let scene = draw(&Dots { panels: vec![panel], ..Dots::default() });
        let axis = WIDTH - MARGIN - 14.0;
        assert_eq!(right_end(&scene, |ink| matches!(ink, Ink::Line { .. })), Some(axis));
        let dot = right_end(&scene, |ink| matches!(ink, Ink::Block { .. })).expect("a dot");
        assert!(dot > axis && dot < axis + 5.0, "{dot}");
    }

    #[test]
    fn a_row_without_a_value_has_its_published_one() {
        let dots = vec![Dot { mark: Some(published(5.0)), ..Dot::default() }];
        let row = DotRow { name: "none".into(), dots, ..DotRow::default() };
        let panel = DotPanel { ends: (0.0, 10.0), rows: vec![row], ..DotPanel::default() };
        let scene = draw(&Dots { panels: vec![panel], ..Dots::default() });
        assert_eq!(right_end(&scene, |ink| matches!(ink, Ink::Block { .. })), None);
        assert!(
            scene.items.iter().any(|item| matches!(item, Item::Shape { ink: Ink::Clash, closed: true, .. }))
        );
    }

    /// Two dots on one row have a line from the one to the other; others and the base are strokes.
    #[test]
    fn two_dots_of_a_row_are_joined() {
        let two = [2.0, 8.0].map(|at| Dot { at: Some(at), ..Dot::default() });
        let lines = |dots: &[Dot], others: &[f64], base: Option<f64>| {
            let row = DotRow { dots: dots.to_vec(), others: others.to_vec(), base, ..DotRow::default() };
            let line = Some((5.0, "an equal share".into()));
            let panel = DotPanel { ends: (0.0, 10.0), rows: vec![row], line, ..DotPanel::default() };
            let scene = draw(&Dots { panels: vec![panel], ..Dots::default() });
            let of = |wanted: fn(&Ink) -> bool| {
                scene
                    .items
                    .iter()
                    .filter(|item| matches!(item, Item::Shape { ink, .. } if wanted(ink)))
                    .count()
            };
            (of(|ink| matches!(ink, Ink::Axis)), of(|ink| matches!(ink, Ink::Limit)))
        };
        let (axis, _) = lines(&two[..1], &[], None);
        assert_eq!(lines(&two, &[], None), (axis + 1, 1));
        assert_eq!(lines(&two, &[1.0, 9.0], None), (axis + 3, 1));
        assert_eq!(lines(&two, &[], Some(3.0)), (axis + 1, 2), "the base of the row, too");
    }
}
