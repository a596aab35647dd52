//! PNG: the same shapes as in the SVG, drawn with tiny-skia, and text as outlines of Noto Sans.

use std::io::{Read as _, Write as _};
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::scene::{Anchor, Item, Point, Scene};
use super::style::{Colour, Ink, Type};

/// Pixels of the picture per pixel of the drawing.
const SCALE: f32 = 2.0;
/// Longest side of the picture.
const SIDE_MAX: f64 = 16_000.0;

/// The drawing as a PNG file on white, with twice its size in pixels.
pub(crate) fn draw(scene: &Scene) -> Result<Vec<u8>, String> {
    let side = |v: f64| (v.clamp(1.0, SIDE_MAX / f64::from(SCALE)) * f64::from(SCALE)).ceil() as u32;
    let mut canvas = Pixmap::new(side(scene.width), side(scene.height)).ok_or("the picture is too large")?;
    canvas.fill(colour(Colour::Paper, 1.0));
    let fonts = Fonts::new()?;
    for item in &scene.items {
        match item {
            Item::Open(_) | Item::Close => {}
            Item::Shape { ink, closed, parts } => shape(&mut canvas, *ink, *closed, parts),
            Item::Text { style, at, anchor, upright, words } => {
                fonts.text(&mut canvas, *style, *at, *anchor, *upright, words);
            }
        }
    }
    encode(&canvas).map_err(|e| e.to_string())
}

/// The picture, which is opaque, as PNG with 8 bits each of red, green and blue.
fn encode(canvas: &Pixmap) -> std::io::Result<Vec<u8>> {
    let row = canvas.width() as usize * 4;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut line = Vec::new();
    for pixels in canvas.data().chunks_exact(row) {
        line.clear();
        line.push(0); // rows unfiltered: flat colours compress best that way
        pixels.chunks_exact(4).for_each(|p| line.extend_from_slice(&p[..3]));
        packed.write_all(&line)?;
    }
    let mut head = Vec::new();
    head.extend_from_slice(&canvas.width().to_be_bytes());
    head.extend_from_slice(&canvas.height().to_be_bytes());
    head.extend_from_slice(&[8, 2, 0, 0, 0]); // depth, RGB, deflate, filter method, not interlaced
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, *b"IHDR", &head);
    chunk(&mut out, *b"IDAT", &packed.finish()?);
    chunk(&mut out, *b"IEND", &[]);
    Ok(out)
}

fn chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(&name);
    crc.update(data);
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&name);
    out.extend_from_slice(data);
    out.extend_from_slice(&crc.sum().to_be_bytes());
}

fn colour(c: Colour, opacity: f32) -> Color {
    let [r, g, b] = c.rgb();
    let mut out = Color::from_rgba8(r, g, b, 255);
    out.set_alpha(opacity);
    out
}

fn paint(c: Colour, opacity: f32) -> Paint<'static> {
    let mut out = Paint::default();
    out.set_color(colour(c, opacity));
    out.anti_alias = true;
    out
}

fn path(parts: &[Vec<Point>], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for part in parts {
        for (i, &(x, y)) in part.iter().enumerate() {
            let (x, y) = (x as f32, y as f32);
            if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
        }
        if closed {
            builder.close();
        }
    }
    builder.finish()
}

fn shape(canvas: &mut Pixmap, ink: Ink, closed: bool, parts: &[Vec<Point>]) {
    let Some(path) = path(parts, closed) else { return };
    let how = ink.paint();
    let scale = Transform::from_scale(SCALE, SCALE);
    if let Some((c, opacity)) = how.fill {
        canvas.fill_path(&path, &paint(c, opacity), FillRule::Winding, scale, None);
    }
    if let Some((c, width)) = how.stroke {
        let dash = if how.dash.is_empty() { None } else { StrokeDash::new(evenly(how.dash), 0.0) };
        let line =
            Stroke { width, dash, line_join: LineJoin::Round, line_cap: LineCap::Butt, ..Stroke::default() };
        canvas.stroke_path(&path, &paint(c, 1.0), &line, scale, None);
    }
}

/// A dash pattern needs an even number of entries.
fn evenly(dash: &[f32]) -> Vec<f32> {
    if dash.len().is_multiple_of(2) { dash.to_vec() } else { dash.repeat(2) }
}

static REGULAR: LazyLock<Vec<u8>> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/regular"))));
static BOLD: LazyLock<Vec<u8>> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/bold"))));

/// What `build.rs` has compressed. Of a font that is cut short, the reader says so.
fn inflated(packed: &[u8]) -> Vec<u8> {
    let mut font = Vec::new();
    let _ = DeflateDecoder::new(packed).read_to_end(&mut font);
    font
}

struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Fonts {
    fn new() -> Result<Self, String> {
        let face = |font: &'static LazyLock<Vec<u8>>| Face::parse(font, 0).map_err(|e| e.to_string());
        Ok(Self { regular: face(&REGULAR)?, bold: face(&BOLD)? })
    }

    fn text(&self, canvas: &mut Pixmap, style: Type, at: Point, anchor: Anchor, upright: bool, words: &str) {
        let face = if style.bold() { &self.bold } else { &self.regular };
        let size = style.size() / f32::from(face.units_per_em());
        let mut outline = Outline { builder: PathBuilder::new(), size, x: 0.0 };
        for c in words.chars() {
            let glyph = face.glyph_index(c).unwrap_or(GlyphId(0));
            face.outline_glyph(glyph, &mut outline);
            outline.x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * size;
        }
        let width = outline.x;
        let Some(path) = outline.builder.finish() else { return };
        let shift = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        let mut place = Transform::from_translate(shift, 0.0);
        if upright {
            place = place.post_concat(Transform::from_rotate(-90.0));
        }
        let place = place.post_translate(at.0 as f32, at.1 as f32).post_scale(SCALE, SCALE);
        if style.halo() > 0.0 {
            let halo = Stroke { width: style.halo(), line_join: LineJoin::Round, ..Stroke::default() };
            canvas.stroke_path(&path, &paint(Colour::Paper, 1.0), &halo, place, None);
        }
        canvas.fill_path(&path, &paint(style.colour(), 1.0), FillRule::Winding, place, None);
    }
}

/// Collects glyphs along a line, with y downwards.
struct Outline {
    builder: PathBuilder,
    size: f32,
    x: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.size, -y * self.size)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
