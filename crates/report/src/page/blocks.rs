//! Lists and tables of the page.

use std::fmt::Write as _;

use super::glossary;

/// A list of terms; values are markup.
pub(super) fn list(items: &[(&str, String)]) -> String {
    let mut out = String::from("<dl>");
    for (term, value) in items.iter().filter(|(_, v)| !v.is_empty()) {
        let _ = write!(out, "<dt>{term}</dt><dd>{value}</dd>");
    }
    out.push_str("</dl>\n");
    out
}

/// A table with its header; cells are markup.
pub(super) fn table(label: &str, heads: &[&str], texts: usize, rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{label}\"><table><thead><tr>"
    );
    for (i, head) in heads.iter().enumerate() {
        let class = if i < texts { " class=\"text\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", glossary::known(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let class = if i < texts { " class=\"text\"" } else { "" };
            let _ = if i == 0 {
                write!(out, "<th scope=\"row\">{cell}</th>")
            } else {
                write!(out, "<td{class}>{cell}</td>")
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
    out
}
