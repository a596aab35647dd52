//! A table on the whole terminal that is drawn anew until `q`.

use std::io::stdout;
use std::time::{Duration, Instant};

use goodqueue_experiment::Error;
use goodqueue_wire::has_hung_up;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use crate::system::Interrupt;

/// A key is seen within this time.
const KEYS: Duration = Duration::from_millis(50);

/// What one step of a view says.
pub(crate) enum Step {
    /// Nothing new to show.
    Same,
    /// The rows of the table.
    Rows(String),
    /// It was the last one.
    Last,
}

/// Takes a step each `span`, and shows the table under its header until `q`, Ctrl-C, a signal or the last
/// step.
///
/// # Errors
/// Those of the terminal and of `step`. The terminal is restored first.
pub(crate) fn show(
    header: &str,
    span: Duration,
    step: &mut dyn FnMut() -> Result<Step, Error>,
) -> Result<(), Error> {
    let interrupt = Interrupt::new().map_err(Error::machine)?;
    let mut terminal = ratatui::try_init().map_err(Error::machine)?;
    let end = draw_all(header, span, step, &interrupt, &mut terminal);
    // On a terminal that was closed it fails, and nobody reads why.
    let _ = ratatui::try_restore();
    end
}

fn draw_all(
    header: &str,
    span: Duration,
    step: &mut dyn FnMut() -> Result<Step, Error>,
    interrupt: &Interrupt,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<(), Error> {
    let mut text = String::from("looking …\n");
    loop {
        draw(header, &text, terminal)?;
        let next = Instant::now() + span;
        loop {
            let rest = next.saturating_duration_since(Instant::now());
            // Not `event::poll` waits, but this: if the terminal is closed, `event::poll` never returns.
            if interrupt.wait(rest.min(KEYS)).map_err(Error::machine)?.is_some() || has_hung_up(&stdout()) {
                return Ok(());
            }
            if rest.is_zero() {
                break;
            }
            if !event::poll(Duration::ZERO).map_err(Error::machine)? {
                continue;
            }
            match event::read().map_err(Error::machine)? {
                Event::Key(key) if matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) => return Ok(()),
                Event::Key(key)
                    if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL =>
                {
                    return Ok(());
                }
                Event::Resize(..) => draw(header, &text, terminal)?,
                _ => {}
            }
        }
        match step()? {
            Step::Same => {}
            Step::Rows(rows) => text = rows,
            Step::Last => return Ok(()),
        }
    }
}

fn draw(header: &str, text: &str, terminal: &mut ratatui::DefaultTerminal) -> Result<(), Error> {
    let drawn = terminal.draw(|frame| frame.render_widget(page(header, text, frame.area()), frame.area()));
    drawn.map(|_| ()).map_err(Error::machine)
}

/// The table with its header, as a widget for this area. It says what does not fit.
fn page<'a>(header: &'a str, text: &'a str, area: Rect) -> Paragraph<'a> {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let mut page = Text::from(Line::styled(header, Style::new().add_modifier(Modifier::BOLD)));
    // The header and the last line take two.
    let (all, room) = (text.lines().count(), usize::from(area.height).saturating_sub(2));
    let shown = if all > room { room.saturating_sub(1) } else { all };
    page.extend(text.lines().take(shown).map(Line::raw));
    let (columns, width) = (page.width(), usize::from(area.width));
    if all == 0 {
        page.push_line(Line::styled("nothing to show", dim));
    }
    if shown < all {
        let more = format!("… {} more lines; name interfaces, or take --json", all - shown);
        page.push_line(Line::styled(more, dim));
    }
    let end = if columns > width {
        format!("q ends it ({width} of {columns} columns fit)")
    } else {
        "q ends it".to_owned()
    };
    page.push_line(Line::styled(end, dim));
    Paragraph::new(page)
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::widgets::Widget;

    use super::*;

    /// The lines of a terminal of this size with so many rows.
    fn drawn(rows: usize, width: u16, height: u16) -> Vec<String> {
        let text: String = (1..=rows).map(|row| format!("row {row}\n")).collect();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        page("a header of 23 columns!", &text, area).render(area, &mut buffer);
        let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let all = drawn(38, 60, 40);
        assert_eq!((&*all[1], &*all[38], &*all[39]), ("row 1", "row 38", "q ends it"));
        let some = drawn(60, 60, 40);
        assert_eq!((&*some[0], &*some[37]), ("a header of 23 columns!", "row 37"));
        assert_eq!(some[38], "… 23 more lines; name interfaces, or take --json");
        assert_eq!(some[39], "q ends it");
        assert_eq!(drawn(1, 20, 3), ["a header of 23 colum", "row 1", "q ends it (20 of 23"]);
        // However small it is, it draws.
        for height in 0..4 {
            drawn(60, 5, height);
        }
    }
}
