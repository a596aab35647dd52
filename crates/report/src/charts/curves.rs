//! Values as lines, others as dots.

use super::arms;
use super::frame::{EndLabel, Frame, Sides, end_labels};
use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, dot, text_width, wrap};
use super::style::{Ink, Type};
use crate::curves::Curves;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
/// Height of the area of the axes.
const HEIGHT: f64 = 340.0;
/// Radius of a dot.
const DOT: f64 = 3.6;

/// Values below the bottom of the vertical axis are left out.
pub(crate) fn draw(curves: &Curves) -> Scene {
    let mut scene = Scene::new(WIDTH, 0.0, curves.about.clone());
    let mut y = 30.0;
    for (style, words, step) in [(Type::Title, &curves.title, 24.0), (Type::Subtitle, &curves.about, 18.0)] {
        for line in wrap(style, words, WIDTH - 2.0 * MARGIN) {
            scene.text(style, (MARGIN, y), Anchor::Start, line);
            y += step;
        }
    }
    let names = curves.series.iter().enumerate();
    let widest = names.map(|(queue, curve)| text_width(Type::Label(queue), &curve.name)).fold(0.0, f64::max);
    let (left, top, right) = (78.0, y + 2.0, WIDTH - MARGIN - widest - 12.0);
    let frame = Frame {
        left,
        top,
        width: right - left,
        height: HEIGHT,
        x: Scale::log(curves.x.0, curves.x.1, left, right),
        y: if curves.y_log {
            Scale::log(curves.y.0, curves.y.1, top + HEIGHT, top)
        } else {
            Scale::linear(curves.y.0, curves.y.1, top + HEIGHT, top)
        },
    };
    frame.draw(&mut scene, Sides { x: Some(&curves.x_title), y: Some(&curves.y_title) });
    let mut labels = Vec::new();
    let is_shown = |&&(_, value): &&Point| value >= curves.y.0;
    for (queue, curve) in curves.series.iter().enumerate() {
        let line: Vec<Point> = curve.line.iter().filter(is_shown).map(|&(x, y)| frame.at(x, y)).collect();
        scene.open(queue);
        if let Some(&(_, y)) = line.last() {
            labels.push(EndLabel { queue, x: right + 10.0, y, words: curve.name.clone() });
        }
        scene.shape(Ink::Line { queue, shade: 0 }, false, vec![line]);
        let dots = curve.dots.iter().filter(is_shown).map(|&(x, y)| dot(frame.at(x, y), DOT)).collect();
        scene.shape(Ink::Block { queue }, true, dots);
        scene.close();
    }
    end_labels(&mut scene, &frame, labels);
    scene.height = frame.bottom() + 52.0;
    arms::foot(&mut scene, &curves.arms, (MARGIN, WIDTH - MARGIN));
    scene
}

#[cfg(test)]
mod tests {
    use super::super::scene::Item;
    use super::*;
    use crate::curves::Curve;

    #[test]
    fn what_is_below_the_axis_is_left_out() {
        let curve = Curve {
            name: "queue".into(),
            line: vec![(1.0, 0.001), (10.0, 1.0), (100.0, 10.0)],
            dots: vec![(1.0, 0.0), (10.0, 1.0)],
        };
        let curves =
            Curves { x: (1.0, 100.0), y: (0.1, 10.0), y_log: true, series: vec![curve], ..Curves::default() };
        let scene = draw(&curves);
        let parts: Vec<(bool, usize)> = scene
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Shape { ink: Ink::Line { .. } | Ink::Block { .. }, closed, parts } => {
                    Some((*closed, parts.iter().map(Vec::len).sum()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(parts, [(false, 2), (true, 16)]);
    }
}
