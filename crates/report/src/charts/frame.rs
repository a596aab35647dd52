//! A plot's box with its axes, and labels beside lines.

use super::scale::Scale;
use super::scene::{Anchor, Point, Scene, text_width};
use super::style::{Ink, Type};

/// The box in which series are drawn, in pixels, with its two scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
}

/// What a frame shows at its sides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sides<'a> {
    /// Title of the horizontal axis; `None` omits its numbers too.
    pub(crate) x: Option<&'a str>,
    /// Title of the vertical axis; `None` omits its numbers too.
    pub(crate) y: Option<&'a str>,
}

impl Frame {
    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn at(&self, x: f64, y: f64) -> Point {
        (self.x.at(x), self.y.at(y).clamp(self.top - 2.0, self.bottom() + 2.0))
    }

    /// Grid, axes, numbers and titles.
    pub(crate) fn draw(&self, scene: &mut Scene, sides: Sides<'_>) {
        let (left, right, bottom) = (self.left, self.right(), self.bottom());
        let rows = (self.height / 38.0).clamp(2.0, 8.0) as usize;
        let mut widest = 0.0_f64;
        for (v, words) in self.y.ticks(rows) {
            let y = self.y.at(v);
            scene.line(Ink::Grid, (left, y), (right, y));
            if sides.y.is_some() {
                widest = widest.max(text_width(Type::Tick, &words));
                scene.text(Type::Tick, (left - 7.0, y + 4.0), Anchor::End, words);
            }
        }
        let columns = (self.width / 62.0).clamp(2.0, 12.0) as usize;
        let mut taken = f64::NEG_INFINITY;
        for (v, words) in self.x.ticks(columns) {
            let x = self.x.at(v);
            scene.line(Ink::Grid, (x, self.top), (x, bottom));
            let half = text_width(Type::Tick, &words) / 2.0;
            if sides.x.is_some() && x - half > taken + 4.0 {
                scene.line(Ink::Axis, (x, bottom), (x, bottom + 4.0));
                scene.text(Type::Tick, (x, bottom + 17.0), Anchor::Middle, words);
                taken = x + half;
            }
        }
        scene.line(Ink::Axis, (left, bottom), (right, bottom));
        if let Some(title) = sides.x {
            scene.text(Type::AxisTitle, (left + self.width / 2.0, bottom + 35.0), Anchor::Middle, title);
        }
        if let Some(title) = sides.y {
            let middle = self.top + self.height / 2.0;
            scene.upright(Type::AxisTitle, (left - widest - 18.0, middle), Anchor::Middle, title);
        }
    }
}

/// A name beside the end of a line.
pub(crate) struct EndLabel {
    pub(crate) queue: usize,
    /// Left end of the name.
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) words: String,
}

/// Puts labels beside their lines and moves them apart so that none covers another, within the frame's height
/// if they fit.
pub(crate) fn end_labels(scene: &mut Scene, frame: &Frame, mut labels: Vec<EndLabel>) {
    const APART: f64 = 16.0;
    labels.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut floor = frame.top + 6.0;
    for label in &mut labels {
        label.y = label.y.max(floor);
        floor = label.y + APART;
    }
    let mut ceiling = frame.bottom();
    for label in labels.iter_mut().rev() {
        label.y = label.y.min(ceiling);
        ceiling = label.y - APART;
    }
    for label in labels {
        scene.open(label.queue);
        scene.text(Type::Label(label.queue), (label.x, label.y + 4.0), Anchor::Start, label.words);
        scene.close();
    }
}
