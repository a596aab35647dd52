//! A table on the whole terminal that is drawn anew until `q`.

use std::time::{Duration, Instant};

use goodqueue_experiment::Error;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use crate::system::Interrupt;

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
    ratatui::restore();
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
        let draw = terminal.draw(|frame| frame.render_widget(page(header, &text), frame.area()));
        draw.map_err(Error::machine)?;
        let next = Instant::now() + span;
        loop {
            if interrupt.wait(Duration::ZERO).map_err(Error::machine)?.is_some() {
                return Ok(());
            }
            let rest = next.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            // A signal is seen within this time.
            if !event::poll(rest.min(Duration::from_millis(200))).map_err(Error::machine)? {
                continue;
            }
            match event::read().map_err(Error::machine)? {
                Event::Key(key) if matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) => return Ok(()),
                Event::Key(key)
                    if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL =>
                {
                    return Ok(());
                }
                Event::Resize(..) => {
                    let draw = terminal.draw(|frame| frame.render_widget(page(header, &text), frame.area()));
                    draw.map_err(Error::machine)?;
                }
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

/// The table with its header, as a widget.
fn page<'a>(header: &'a str, text: &'a str) -> Paragraph<'a> {
    let mut page = Text::from(Line::styled(header, Style::new().add_modifier(Modifier::BOLD)));
    page.extend(text.lines().map(Line::raw));
    page.push_line(Line::styled("q ends it", Style::new().add_modifier(Modifier::DIM)));
    Paragraph::new(page)
}
