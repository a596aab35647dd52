//! The page of a sweep.

use std::fmt::Write as _;

use super::{CSS, HEAD, fill, matrix, theme};
use crate::charts::{self, escape, front};
use crate::sweep::{Effects, Findings, Front, Surface, basis_words, number};

const BODY: &str = include_str!("../../assets/sweep.html");
/// Rows of a table before it is cut.
const MOST: usize = 200;

/// The page: one HTML document without external references.
#[must_use]
pub fn html(found: &Findings) -> String {
    let headline = match &found.best {
        Some(best) => format!(
            "{} {}: {} {} with {}, {}",
            if found.is_most { "Most" } else { "Least" },
            escape(&found.aim.figure),
            number(best.mean),
            escape(&found.aim.unit),
            escape(&best.queue),
            escape(&best.words)
        ),
        None => "No point of the sweep meets the limits".into(),
    };
    let slots = [
        ("version", escape(&found.version)),
        ("title", escape(if found.title.is_empty() { "Sweep" } else { &found.title })),
        ("theme", theme(0)),
        ("css", CSS.to_owned()),
        ("chart_css", charts::css(true)),
        ("headline", headline),
        ("about", about(found)),
        ("banners", banners(found)),
        ("best", best(found)),
        ("surface", found.surface.as_ref().map(surface).unwrap_or_default()),
        ("front", found.front.as_ref().map(|front| front_of(front, &found.queues)).unwrap_or_default()),
        ("effects", effects(found)),
        ("failed", failed(found)),
    ];
    fill(&[HEAD, BODY].concat(), &slots)
}

fn about(found: &Findings) -> String {
    let mut parts = Vec::new();
    if !found.title.is_empty() {
        parts.push(format!("<strong>{}</strong>", escape(&found.title)));
    }
    parts.push(escape(&found.design));
    parts.push(escape(&format!("axes: {}", found.axes.join(", "))));
    parts.push(escape(&found.queues.join(", ")));
    parts.push(format!("{} seeds", found.seeds.len()));
    parts.push(format!("{} runs", found.runs));
    parts.join(" · ")
}

fn banners(found: &Findings) -> String {
    let mut out = String::new();
    if found.missing > 0 {
        let words = format!("{} points and seeds were not run.", found.missing);
        super::banner(&mut out, "banner bad", &words, &[]);
    }
    if !found.failed.is_empty() {
        let words = format!("{} runs failed. They are listed below and are in no mean.", found.failed.len());
        super::banner(&mut out, "banner bad", &words, &[]);
    }
    if !found.warnings.is_empty() {
        super::banner(&mut out, "banner", "Read this before trusting the result.", &found.warnings);
    }
    out
}

fn best(found: &Findings) -> String {
    let Some(best) = &found.best else { return String::new() };
    let mut out = format!(
        "<p class=\"lead\">{} with {}: {} {}, mean of {} seeds. {}</p>\n",
        escape(&best.words),
        escape(&best.queue),
        number(best.mean),
        escape(&found.aim.unit),
        best.seeds,
        escape(&best.verdict(&found.aim))
    );
    if !found.limits.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"lead\">Points that cross a limit were left out: {}.</p>",
            escape(&found.limits.join(", "))
        );
    }
    let rows: Vec<Vec<String>> = best
        .figures
        .iter()
        .map(|(of, mean)| vec![escape(&of.figure), number(*mean), escape(&of.unit)])
        .collect();
    out.push_str(&super::blocks::table("Figures of the best point", &["figure", "mean", "unit"], 1, &rows));
    out
}

/// A table of shades for each variant, with the same scale.
fn surface(surface: &Surface) -> String {
    let mut out = String::from("<div class=\"matrices\">\n");
    let values = || surface.panels.iter().flat_map(|(_, rows)| rows.iter().flatten().flatten().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    for (queue, (name, rows)) in surface.panels.iter().enumerate() {
        let title = format!("{}: {}", escape(name), escape(&surface.of.words()));
        let _ = write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table class=\"matrix q{}\">\
             <caption>{title} <small>white: the least; the darkest: the most</small></caption>\n<thead>\
             <tr><td></td><th scope=\"colgroup\" colspan=\"{}\">{}</th></tr><tr><th scope=\"col\">{}</th>",
            queue % 8,
            surface.columns.1.len(),
            escape(&surface.columns.0),
            escape(&surface.rows.0)
        );
        for column in &surface.columns.1 {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(column));
        }
        out.push_str("</tr></thead>\n<tbody>");
        for (row, cells) in surface.rows.1.iter().zip(rows) {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(row));
            for cell in cells {
                let _ = match cell {
                    Some(v) => {
                        write!(
                            out,
                            "<td style=\"--s:{:.0}%\">{}</td>",
                            matrix::shade(*v, low, high),
                            number(*v)
                        )
                    }
                    None => write!(out, "<td class=\"none\">–</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
    out + "</div>\n"
}

fn front_of(front: &Front, queues: &[String]) -> String {
    let mut out = format!("<figure>{}</figure>\n", front::draw(front, queues).inline_svg());
    let rows: Vec<Vec<String>> = front
        .front
        .iter()
        .take(MOST)
        .map(|dot| {
            let queue = queues.get(dot.queue).map_or("", String::as_str);
            vec![escape(queue), escape(&dot.words), number(dot.x), number(dot.y)]
        })
        .collect();
    let heads = [String::from("queue"), "point".into(), escape(&front.x.words()), escape(&front.y.words())];
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    out.push_str(&super::blocks::table("Pareto front", &heads, 2, &rows));
    let _ = writeln!(out, "<p class=\"lead\">{} other points are behind the front.</p>", front.others);
    out
}

fn effects(found: &Findings) -> String {
    let mut out = String::new();
    for Effects { of, mean, factors, basis } in &found.effects {
        let _ = writeln!(
            out,
            "<h3>{}</h3>\n<p class=\"lead\">Mean of all points: {}. {}</p>",
            escape(&of.words()),
            number(*mean),
            escape(&basis_words(*basis, found.seeds.len()))
        );
        let mut rows = Vec::new();
        for factor in factors {
            for level in &factor.levels {
                let sign = if level.effect >= 0.0 { "+" } else { "" };
                rows.push(vec![
                    escape(&factor.name),
                    escape(&level.words),
                    number(level.mean),
                    format!("{sign}{}", number(level.effect)),
                    level.half.map_or_else(|| "–".into(), |half| format!("± {}", number(half))),
                ]);
            }
        }
        let heads = ["axis", "value", "mean", "effect", "interval"];
        out.push_str(&super::blocks::table(
            &format!("Main effects on {}", escape(&of.figure)),
            &heads,
            2,
            &rows,
        ));
    }
    out
}

fn failed(found: &Findings) -> String {
    if found.failed.is_empty() {
        return String::new();
    }
    let row = |failed: &crate::sweep::Failed| {
        vec![escape(&failed.queue), escape(&failed.words), failed.seed.to_string(), escape(&failed.why)]
    };
    let rows: Vec<Vec<String>> = found.failed.iter().take(MOST).map(row).collect();
    let mut out =
        String::from("<section aria-labelledby=\"h-failed\">\n<h2 id=\"h-failed\">Failed runs</h2>\n");
    out.push_str(&super::blocks::table("Failed runs", &["queue", "point", "seed", "why"], 4, &rows));
    out + "</section>\n"
}
