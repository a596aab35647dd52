//! How things look, in one place: the style sheets and the PNG painter both use it.

use std::fmt::Write as _;

/// Number of colours for queues before they repeat (with another dash).
pub(crate) const QUEUES: usize = 8;

/// Colours by role. The page has a CSS variable for each, light and dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Behind everything.
    Paper,
    /// Main text.
    Ink,
    /// Secondary text.
    Muted,
    /// Lines at ticks.
    Grid,
    /// Axis lines.
    Axis,
    /// The colour of a queue, distinguishable with every common kind of colour vision (after Okabe and Ito,
    /// darkened so that text in it is legible on white).
    Queue(usize),
}

impl Colour {
    /// Red, green, blue on a light page.
    pub(crate) fn rgb(self) -> [u8; 3] {
        match self {
            Self::Paper => [0xff, 0xff, 0xff],
            Self::Ink => [0x1b, 0x1f, 0x24],
            Self::Muted => [0x59, 0x63, 0x6e],
            Self::Grid => [0xe4, 0xe7, 0xeb],
            Self::Axis => [0x8c, 0x95, 0x9f],
            Self::Queue(i) => match i % QUEUES {
                0 => [0xc2, 0x41, 0x0c],
                1 => [0x00, 0x66, 0xa6],
                2 => [0x00, 0x7a, 0x5a],
                3 => [0xa3, 0x3f, 0x80],
                4 => [0x80, 0x60, 0x00],
                5 => [0x52, 0x5a, 0x63],
                6 => [0x5b, 0x3f, 0xb5],
                _ => [0x7a, 0x2e, 0x2e],
            },
        }
    }

    fn css(self, themed: bool) -> String {
        if themed {
            return match self {
                Self::Paper => "var(--paper)".into(),
                Self::Ink => "var(--ink)".into(),
                Self::Muted => "var(--muted)".into(),
                Self::Grid => "var(--grid)".into(),
                Self::Axis => "var(--axis)".into(),
                Self::Queue(i) => format!("var(--q{})", i % QUEUES),
            };
        }
        let [r, g, b] = self.rgb();
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// How a shape is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The sheet.
    Paper,
    /// A line at a tick.
    Grid,
    /// The line of an axis.
    Axis,
    /// The rate of the link, or another bound.
    Limit,
    /// A series. The shade distinguishes the flows of one queue.
    Line { queue: usize, shade: usize },
    /// The spread around a series.
    Band { queue: usize },
    /// One flow's part of a stack.
    Area { queue: usize, shade: usize },
    /// The same for parts that are too thin for an outline.
    Sliver { queue: usize, shade: usize },
    /// A frame on the air; without an outline, so that the shortest keeps its width.
    Block { queue: usize },
    /// What accompanies it, such as acknowledgements.
    Faint { queue: usize },
    /// Collisions and retransmissions.
    Clash,
}

/// Dashes of the shades, in pixels; the first is solid.
const DASHES: [&[f32]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[9.0, 3.0, 2.0, 3.0]];
/// Opacities of the shades in a stack.
const SHADES: [f32; 4] = [0.64, 0.36, 0.5, 0.24];
const BAND: f32 = 0.2;
const BLOCK: f32 = 0.88;
const FAINT: f32 = 0.42;

/// A shape's paint.
pub(crate) struct Paint {
    /// Colour and opacity of the inside.
    pub(crate) fill: Option<(Colour, f32)>,
    /// Colour and width of the outline.
    pub(crate) stroke: Option<(Colour, f32)>,
    /// Dashes of the outline.
    pub(crate) dash: &'static [f32],
}

impl Ink {
    pub(crate) fn paint(self) -> Paint {
        let stroke = |colour, width, dash| Paint { fill: None, stroke: Some((colour, width)), dash };
        let fill = |colour, opacity| Paint { fill: Some((colour, opacity)), stroke: None, dash: &[] };
        match self {
            Self::Paper => fill(Colour::Paper, 1.0),
            Self::Grid => stroke(Colour::Grid, 1.0, &[]),
            Self::Axis => stroke(Colour::Axis, 1.0, &[]),
            Self::Limit => stroke(Colour::Muted, 1.0, &[3.0, 3.0]),
            Self::Line { queue, shade } => {
                stroke(Colour::Queue(queue), 1.8, DASHES[(shade + queue / QUEUES) % DASHES.len()])
            }
            Self::Band { queue } => fill(Colour::Queue(queue), BAND),
            Self::Block { queue } => fill(Colour::Queue(queue), BLOCK),
            Self::Faint { queue } => fill(Colour::Queue(queue), FAINT),
            Self::Clash => fill(Colour::Ink, 1.0),
            Self::Sliver { queue, shade } => fill(Colour::Queue(queue), SHADES[shade % SHADES.len()]),
            Self::Area { queue, shade } => Paint {
                fill: Some((Colour::Queue(queue), SHADES[shade % SHADES.len()])),
                stroke: Some((Colour::Paper, 0.8)),
                dash: &[],
            },
        }
    }

    pub(crate) fn class(self) -> String {
        match self {
            Self::Paper => "paper".into(),
            Self::Grid => "grid".into(),
            Self::Axis => "axis".into(),
            Self::Limit => "limit".into(),
            Self::Line { queue, shade } => {
                format!("line q{} d{}", queue % QUEUES, (shade + queue / QUEUES) % DASHES.len())
            }
            Self::Band { queue } => format!("band q{}", queue % QUEUES),
            Self::Area { queue, shade } => format!("area q{} s{}", queue % QUEUES, shade % SHADES.len()),
            Self::Sliver { queue, shade } => format!("sliver q{} s{}", queue % QUEUES, shade % SHADES.len()),
            Self::Block { queue } => format!("block q{}", queue % QUEUES),
            Self::Faint { queue } => format!("faint q{}", queue % QUEUES),
            Self::Clash => "clash".into(),
        }
    }
}

/// How a text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Over a standalone chart.
    Title,
    /// Under the title.
    Subtitle,
    /// Over a panel, in the queue's colour.
    Panel(usize),
    /// The result under a queue's name.
    Result,
    /// Beside an axis.
    AxisTitle,
    /// At a tick.
    Tick,
    /// At a series, in its colour.
    Label(usize),
    /// The name of several series together.
    Name,
    /// On a filled area.
    OnArea,
    /// A remark in the plot.
    Note,
}

impl Type {
    /// Size in pixels.
    pub(crate) fn size(self) -> f32 {
        match self {
            Self::Title => 19.0,
            Self::Panel(_) => 15.0,
            Self::Subtitle => 13.0,
            Self::Result => 13.5,
            Self::AxisTitle | Self::Tick | Self::Note => 12.0,
            Self::Label(_) | Self::Name => 12.5,
            Self::OnArea => 11.5,
        }
    }

    pub(crate) fn bold(self) -> bool {
        matches!(self, Self::Title | Self::Panel(_) | Self::Label(_) | Self::Name)
    }

    /// Width of the outline in the background colour that keeps the text legible over lines.
    pub(crate) fn halo(self) -> f32 {
        if matches!(self, Self::Label(_) | Self::Note) { 4.0 } else { 0.0 }
    }

    pub(crate) fn colour(self) -> Colour {
        match self {
            Self::Title | Self::Result | Self::Name | Self::OnArea => Colour::Ink,
            Self::Panel(q) | Self::Label(q) => Colour::Queue(q),
            Self::Subtitle | Self::AxisTitle | Self::Tick | Self::Note => Colour::Muted,
        }
    }

    pub(crate) fn class(self) -> String {
        match self {
            Self::Title => "title".into(),
            Self::Subtitle => "subtitle".into(),
            Self::Panel(q) => format!("panel q{}", q % QUEUES),
            Self::Result => "result".into(),
            Self::AxisTitle => "axistitle".into(),
            Self::Tick => "tick".into(),
            Self::Label(q) => format!("label q{}", q % QUEUES),
            Self::Name => "name".into(),
            Self::OnArea => "onarea".into(),
            Self::Note => "note".into(),
        }
    }
}

/// The fonts to use where text stays text.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',sans-serif";

/// The style sheet of the charts: with CSS variables for the page (`themed`), with plain colours for a
/// self-contained file.
pub(crate) fn css(themed: bool) -> String {
    let mut out = format!(".chart text{{font-family:{FONTS};font-variant-numeric:tabular-nums}}\n");
    for ink in [Ink::Paper, Ink::Grid, Ink::Axis, Ink::Limit, Ink::Clash] {
        let _ = writeln!(out, ".chart .{}{{{}}}", ink.class(), declarations(&ink.paint(), themed));
    }
    for queue in 0..QUEUES {
        let inks = [
            (Ink::Line { queue, shade: 0 }, "line"),
            (Ink::Band { queue }, "band"),
            (Ink::Area { queue, shade: 0 }, "area"),
            (Ink::Sliver { queue, shade: 0 }, "sliver"),
            (Ink::Block { queue }, "block"),
            (Ink::Faint { queue }, "faint"),
        ];
        for (ink, class) in inks {
            let _ = writeln!(out, ".chart .{class}.q{queue}{{{}}}", declarations(&ink.paint(), themed));
        }
        let _ = writeln!(out, ".chart text.q{queue}{{fill:{}}}", Colour::Queue(queue).css(themed));
    }
    for (i, dash) in DASHES.iter().enumerate().skip(1) {
        let list: Vec<String> = dash.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, ".chart .line.d{i}{{stroke-dasharray:{}}}", list.join(" "));
    }
    for (i, shade) in SHADES.iter().enumerate() {
        // Dark pages use less of the colour, so that names on it stay legible.
        let opacity = if themed { format!("calc({shade}*var(--area))") } else { shade.to_string() };
        let _ = writeln!(out, ".chart .area.s{i},.chart .sliver.s{i}{{fill-opacity:{opacity}}}");
    }
    for (kind, class) in [
        (Type::Title, "title"),
        (Type::Subtitle, "subtitle"),
        (Type::Panel(0), "panel"),
        (Type::Result, "result"),
        (Type::AxisTitle, "axistitle"),
        (Type::Tick, "tick"),
        (Type::Label(0), "label"),
        (Type::Name, "name"),
        (Type::OnArea, "onarea"),
        (Type::Note, "note"),
    ] {
        let colour = match kind {
            Type::Panel(_) | Type::Label(_) => String::new(),
            other => format!(";fill:{}", other.colour().css(themed)),
        };
        let weight = if kind.bold() { "600" } else { "400" };
        let halo = match kind.halo() {
            0.0 => String::new(),
            w => format!(";paint-order:stroke;stroke:{};stroke-width:{w}px", Colour::Paper.css(themed)),
        };
        let _ = writeln!(
            out,
            ".chart .{class}{{font-size:{}px;font-weight:{weight}{colour}{halo}}}",
            kind.size()
        );
    }
    out
}

fn declarations(paint: &Paint, themed: bool) -> String {
    let mut out = match paint.fill {
        Some((colour, opacity)) if opacity < 1.0 => {
            format!("fill:{};fill-opacity:{opacity}", colour.css(themed))
        }
        Some((colour, _)) => format!("fill:{}", colour.css(themed)),
        None => "fill:none".into(),
    };
    if let Some((colour, width)) = paint.stroke {
        let _ = write!(out, ";stroke:{};stroke-width:{width};stroke-linejoin:round", colour.css(themed));
        if !paint.dash.is_empty() {
            let list: Vec<String> = paint.dash.iter().map(ToString::to_string).collect();
            let _ = write!(out, ";stroke-dasharray:{}", list.join(" "));
        }
    }
    out
}
