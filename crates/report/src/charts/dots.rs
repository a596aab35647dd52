//! Measured values as dots with their intervals, published ones as diamonds, a row each.

use super::arms;
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, dot, fit_text, text_width, wrap};
use super::style::{Ink, Type};
use crate::dots::{Dot, DotPanel, DotRow, Dots};

const WIDTH: f64 = 1040.0;
const MARGIN: f64 = 16.0;
/// Height of a row.
const ROW: f64 = 20.0;
/// Widest names, and widest words behind the dots.
const NAMES: f64 = 430.0;
const WORDS: f64 = 260.0;
/// Radius of a measured value's dot.
const DOT: f64 = 3.6;
/// Half the height of a stroke.
const STROKE: f64 = 4.5;
/// Half the diagonal of a published value's mark.
const MARK: f64 = 5.0;
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

/// Draws a panel from `top`; returns where it ends.
fn draw_panel(scene: &mut Scene, panel: &DotPanel, (left, right): (f64, f64), top: f64) -> f64 {
    let (from, to) = panel.ends;
    let x = if panel.log { Scale::log(from, to, left, right) } else { Scale::linear(from, to, left, right) };
    // The words of a line are above the rows.
    let first = top + if panel.line.is_some() { 36.0 } else { 22.0 };
    let bottom = first + panel.rows.len() as f64 * ROW + 4.0;
    let title = fit_text(Type::Result, &panel.title, WIDTH - 2.0 * MARGIN);
    scene.text(Type::Result, (MARGIN, top + 10.0), Anchor::Start, title);
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
    for (number, row) in panel.rows.iter().enumerate() {
        draw_row(scene, row, &x, (left, right), first + (number as f64 + 0.5) * ROW);
    }
    bottom + 28.0
}

fn draw_row(scene: &mut Scene, row: &DotRow, x: &Scale, (left, right): (f64, f64), y: f64) {
    let at = |value: f64| x.at(value).clamp(left, right);
    let name = fit_text(Type::Tick, &row.name, NAMES);
    scene.text(Type::Tick, (left - 12.0, y + 4.0), Anchor::End, name);
    scene.text(Type::Tick, (right + 12.0, y + 4.0), Anchor::Start, fit_text(Type::Tick, &row.words, WORDS));
    if let Some((least, most)) = row.band {
        let (from, to) = (at(least), at(most));
        let area = vec![(from, y - 8.0), (to, y - 8.0), (to, y + 8.0), (from, y + 8.0)];
        scene.shape(Ink::Band { queue: GREY }, true, vec![area]);
    }
    for &other in &row.others {
        scene.line(Ink::Axis, (at(other), y - STROKE), (at(other), y + STROKE));
    }
    if let [Dot { at: Some(first), .. }, Dot { at: Some(second), .. }] = row.dots[..] {
        scene.line(Ink::Axis, (at(first), y), (at(second), y));
    }
    for Dot { at: ours, bar, mark, colour } in &row.dots {
        if let Some(mark) = *mark {
            scene.shape(Ink::Clash, true, vec![diamond((at(mark), y))]);
        }
        if let Some((low, high)) = *bar {
            scene.line(Ink::Line { queue: *colour, shade: 0 }, (at(low), y), (at(high), y));
        }
        if let Some(ours) = *ours {
            scene.shape(Ink::Block { queue: *colour }, true, vec![dot((at(ours), y), DOT)]);
        }
    }
}

fn diamond((x, y): Point) -> Vec<Point> {
    vec![(x - MARK, y), (x, y - MARK), (x + MARK, y), (x, y + MARK)]
}

#[cfg(test)]
mod tests {
    use super::super::scene::Item;
    use super::*;

    fn right_end(scene: &Scene, of: fn(&Ink) -> bool) -> Option<f64> {
        let points = scene.items.iter().filter_map(|item| match item {
            Item::Shape { ink, parts, .. } if of(ink) => Some(parts.iter().flatten().map(|point| point.0)),
            _ => None,
        });
        points.flatten().reduce(f64::max)
    }

    #[test]
    fn what_is_outside_the_axis_is_drawn_at_its_end() {
        let dot = Dot { at: Some(100.0), bar: Some((50.0, 1000.0)), mark: Some(1.0), colour: 0 };
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
        let dots = vec![Dot { mark: Some(5.0), ..Dot::default() }];
        let row = DotRow { name: "none".into(), dots, ..DotRow::default() };
        let panel = DotPanel { ends: (0.0, 10.0), rows: vec![row], ..DotPanel::default() };
        let scene = draw(&Dots { panels: vec![panel], ..Dots::default() });
        assert_eq!(right_end(&scene, |ink| matches!(ink, Ink::Block { .. })), None);
        assert!(
            scene.items.iter().any(|item| matches!(item, Item::Shape { ink: Ink::Clash, closed: true, .. }))
        );
    }

    /// Two dots on one row have a line from the one to the other, and others are strokes.
    #[test]
    fn two_dots_of_a_row_are_joined() {
        let two = [2.0, 8.0].map(|at| Dot { at: Some(at), ..Dot::default() });
        let lines = |dots: &[Dot], others: &[f64]| {
            let row = DotRow { dots: dots.to_vec(), others: others.to_vec(), ..DotRow::default() };
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
        let (axis, _) = lines(&two[..1], &[]);
        assert_eq!(lines(&two, &[]), (axis + 1, 1));
        assert_eq!(lines(&two, &[1.0, 9.0]), (axis + 3, 1));
    }
}
