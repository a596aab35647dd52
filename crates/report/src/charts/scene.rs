//! A drawing before it is SVG or PNG: shapes and texts in pixels, y downwards.

use std::fmt::Write as _;

use super::style::{Ink, Type, css};

/// A position in pixels.
pub(crate) type Point = (f64, f64);

/// Which point of a text its position is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// At its left end.
    Start,
    /// In its middle.
    Middle,
    /// At its right end.
    End,
}

/// One piece of a drawing.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// The following items belong to this queue, until [`Item::Close`].
    Open(usize),
    /// Ends [`Item::Open`].
    Close,
    /// Lines or, closed, areas.
    Shape { ink: Ink, closed: bool, parts: Vec<Vec<Point>> },
    /// A text; with `upright` it runs upwards.
    Text { style: Type, at: Point, anchor: Anchor, upright: bool, words: String },
}

/// A drawing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// Pixels.
    pub(crate) width: f64,
    /// Pixels.
    pub(crate) height: f64,
    /// What it shows, for screen readers.
    pub(crate) description: String,
    pub(crate) items: Vec<Item>,
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, description: impl Into<String>) -> Self {
        Self { width, height, description: description.into(), items: Vec::new() }
    }

    /// Adds lines (or areas). Points that are not finite end a line.
    pub(crate) fn shape(&mut self, ink: Ink, closed: bool, parts: Vec<Vec<Point>>) {
        let finite = |p: &Point| p.0.is_finite() && p.1.is_finite();
        let parts: Vec<Vec<Point>> = parts
            .iter()
            .flat_map(|part| part.split(|p| !finite(p)).filter(|p| !p.is_empty()).map(<[Point]>::to_vec))
            .collect();
        if !parts.is_empty() {
            self.items.push(Item::Shape { ink, closed, parts });
        }
    }

    pub(crate) fn line(&mut self, ink: Ink, from: Point, to: Point) {
        self.shape(ink, false, vec![vec![from, to]]);
    }

    pub(crate) fn text(&mut self, style: Type, at: Point, anchor: Anchor, words: impl Into<String>) {
        self.put_text(style, at, anchor, false, words.into());
    }

    /// A text that runs upwards.
    pub(crate) fn upright(&mut self, style: Type, at: Point, anchor: Anchor, words: impl Into<String>) {
        self.put_text(style, at, anchor, true, words.into());
    }

    fn put_text(&mut self, style: Type, at: Point, anchor: Anchor, upright: bool, words: String) {
        if at.0.is_finite() && at.1.is_finite() {
            self.items.push(Item::Text { style, at, anchor, upright, words });
        }
    }

    pub(crate) fn open(&mut self, queue: usize) {
        self.items.push(Item::Open(queue));
    }

    pub(crate) fn close(&mut self) {
        self.items.push(Item::Close);
    }

    /// Adds all of another drawing, shifted.
    pub(crate) fn append(&mut self, other: &Self, dx: f64, dy: f64) {
        self.items.extend(other.items.iter().cloned().map(|mut item| {
            match &mut item {
                Item::Shape { parts, .. } => {
                    parts.iter_mut().flatten().for_each(|p| *p = (p.0 + dx, p.1 + dy));
                }
                Item::Text { at, .. } => *at = (at.0 + dx, at.1 + dy),
                Item::Open(_) | Item::Close => {}
            }
            item
        }));
    }

    /// The drawing below a headline.
    #[cfg(feature = "png")]
    pub(crate) fn under(&self, headline: Option<&str>) -> Self {
        const STEP: f64 = 25.0;
        let Some(headline) = headline else { return self.clone() };
        let lines = wrap(Type::Title, headline, self.width - 32.0);
        let head = 14.0 + STEP * lines.len() as f64;
        let mut scene = Self::new(self.width, self.height + head, headline);
        for (number, line) in lines.into_iter().enumerate() {
            scene.text(Type::Title, (16.0, 26.0 + STEP * number as f64), Anchor::Start, line);
        }
        scene.append(self, 0.0, head);
        scene
    }

    /// As a self-contained SVG file: with its styles, on white, in light colours.
    pub(crate) fn standalone_svg(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (w, h) = (number(self.width), number(self.height));
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\">"
        );
        let _ =
            writeln!(out, "<title>{}</title>\n<style>\n{}</style>", escape(&self.description), css(false));
        let _ = writeln!(out, "<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>");
        self.body(&mut out);
        out.push_str("</svg>\n");
        out
    }

    /// As an element of the page, which has the style sheet.
    pub(crate) fn inline_svg(&self) -> String {
        let (w, h) = (number(self.width), number(self.height));
        let mut out = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.description)
        );
        self.body(&mut out);
        out.push_str("</svg>");
        out
    }

    fn body(&self, out: &mut String) {
        for item in &self.items {
            let _ = match item {
                Item::Open(queue) => writeln!(out, "<g data-q=\"{queue}\">"),
                Item::Close => writeln!(out, "</g>"),
                Item::Shape { ink, closed, parts } => {
                    writeln!(out, "<path class=\"{}\" d=\"{}\"/>", ink.class(), path_data(parts, *closed))
                }
                Item::Text { style, at, anchor, upright, words } => {
                    let (x, y) = (number(at.0), number(at.1));
                    let turn =
                        if *upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
                    let anchor = match anchor {
                        Anchor::Start => "",
                        Anchor::Middle => " text-anchor=\"middle\"",
                        Anchor::End => " text-anchor=\"end\"",
                    };
                    let class = style.class();
                    writeln!(
                        out,
                        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}{turn}>{}</text>",
                        escape(words)
                    )
                }
            };
        }
    }
}

/// A dot around `at`.
pub(crate) fn dot(at: Point, radius: f64) -> Vec<Point> {
    let corner = |step: u32| {
        let angle = f64::from(step) / 16.0 * std::f64::consts::TAU;
        (at.0 + radius * angle.cos(), at.1 + radius * angle.sin())
    };
    (0..16).map(corner).collect()
}

/// A coordinate to a tenth of a pixel, always finite and without an exponent.
pub(crate) fn number(v: f64) -> String {
    let tenths = if v.is_finite() { (v * 10.0).round().clamp(-1e7, 1e7) as i64 } else { 0 };
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// Path data with relative steps, because they are short.
fn path_data(parts: &[Vec<Point>], closed: bool) -> String {
    let tenths = |v: f64| (v * 10.0).round().clamp(-1e7, 1e7) as i64;
    let mut out = String::new();
    for part in parts {
        let mut at = (0, 0);
        for (i, &(x, y)) in part.iter().enumerate() {
            let to = (tenths(x), tenths(y));
            let (dx, dy) = (to.0 - at.0, to.1 - at.1);
            if i > 0 && (dx, dy) == (0, 0) && part.len() > 2 {
                continue;
            }
            let command = match i {
                0 => "M",
                1 => "l",
                _ => "",
            };
            let x = number(dx as f64 / 10.0);
            let y = number(dy as f64 / 10.0);
            let before = if command.is_empty() && !x.starts_with('-') { " " } else { "" };
            let between = if y.starts_with('-') { "" } else { " " };
            let _ = write!(out, "{command}{before}{x}{between}{y}");
            at = to;
        }
        if closed {
            out.push('z');
        }
    }
    out
}

/// Text for XML and HTML, in elements and in attributes. Characters that XML forbids become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Advance widths of ASCII from space to tilde, thousandths of the size, of a common sans serif.
const WIDTHS: [u16; 95] = [
    260, 269, 408, 646, 572, 831, 732, 225, 300, 300, 551, 572, 268, 322, 268, 372, 572, 572, 572, 572, 572,
    572, 572, 572, 572, 572, 268, 268, 572, 572, 572, 434, 899, 639, 650, 632, 730, 556, 519, 728, 741, 339,
    273, 619, 524, 907, 760, 781, 605, 781, 622, 549, 556, 731, 600, 930, 586, 566, 572, 329, 372, 329, 572,
    444, 580, 561, 615, 480, 615, 564, 344, 615, 618, 258, 258, 534, 258, 935, 618, 605, 615, 615, 413, 479,
    361, 618, 508, 786, 529, 510, 470, 380, 551, 380, 572,
];

/// The approximate width of a text in pixels, plus a tenth because fonts differ.
pub(crate) fn text_width(style: Type, words: &str) -> f64 {
    let thousandths: u32 = words
        .chars()
        .map(|c| {
            let at = if c == '\u{a0}' { Some(0) } else { (c as usize).checked_sub(32) };
            u32::from(at.and_then(|i| WIDTHS.get(i).copied()).unwrap_or(600))
        })
        .sum();
    let wide = if style.bold() { 1.18 } else { 1.1 };
    f64::from(thousandths) / 1000.0 * f64::from(style.size()) * wide
}

/// The text, shortened with an ellipsis to about `room` pixels.
pub(crate) fn fit_text(style: Type, words: &str, room: f64) -> String {
    if text_width(style, words) <= room {
        return words.to_owned();
    }
    let mut out = String::new();
    for c in words.chars() {
        out.push(c);
        if text_width(style, &out) + f64::from(style.size()) > room {
            break;
        }
    }
    out.push('…');
    out
}

/// The text in as few lines as `room` pixels allow, of about equal length.
pub(crate) fn wrap(style: Type, words: &str, room: f64) -> Vec<String> {
    let count = wrap_at(style, words, room).len();
    let narrow = (0..40).map(|i| room * (1.0 - f64::from(i) / 80.0));
    let best = narrow.take_while(|&w| wrap_at(style, words, w).len() <= count).last();
    let mut lines = wrap_at(style, words, best.unwrap_or(room));
    lines.truncate(3);
    lines
}

/// The text in lines of at most `room` pixels, as many as it takes.
pub(crate) fn wrap_at(style: Type, words: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(style, &format!("{line} {word}")) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit_text(style, word, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let texts: Vec<String> =
            [0.0, -0.04, 1.25, -3.0, 12.34, f64::NAN, f64::INFINITY].map(number).to_vec();
        assert_eq!(texts, ["0", "0", "1.3", "-3", "12.3", "0", "0"]);
    }

    #[test]
    fn paths_are_relative() {
        let part = vec![(1.0, 2.0), (2.0, 1.5), (4.0, 3.0)];
        assert_eq!(path_data(&[part], false), "M1 2l1-0.5 2 1.5");
    }

    #[test]
    fn a_point_that_is_not_finite_ends_a_line() {
        let mut s = Scene::new(1.0, 1.0, "");
        s.shape(Ink::Grid, false, vec![vec![(0.0, 0.0), (f64::NAN, 1.0), (2.0, 2.0)]]);
        assert!(matches!(&s.items[0], Item::Shape { parts, .. } if parts.len() == 2));
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a b='c'>&\u{1}"), "&lt;a b=&#39;c&#39;&gt;&amp;\u{fffd}");
    }
}
