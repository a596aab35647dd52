//! Live views on a terminal: they draw, and leave it as it was.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::paths::Server;
use super::{Gone, has, live, turn};

/// A shell that runs `words` on a terminal of 40 lines and 100 columns (`script(1)` of util-linux).
fn on_terminal(words: &str) -> Gone {
    let words = format!("stty rows 40 cols 100; {words}");
    let mut script = Command::new("script");
    script.args(["--quiet", "--flush", "--command", &words, "/dev/null"]).env("TERM", "xterm-256color");
    script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
    Gone(script.spawn().expect("script runs"))
}

/// Types a command into a shell on a terminal of 40 lines (`script(1)` of util-linux), presses Ctrl-C once
/// the view has been drawn for a while, and gives all that the terminal got. The shell prints the terminal's
/// settings before and after, and the exit code.
fn interrupted(command: &str, drawn: impl Fn(&str) -> bool) -> String {
    let shell = format!(
        "trap : INT; printf 'before <%s>' \"$(stty -g)\"; {command}; \
         printf 'code <%s> after <%s> all' $? \"$(stty -g)\""
    );
    let mut child = on_terminal(&shell);
    let mut keys = child.0.stdin.take().expect("piped");
    let mut screen = child.0.stdout.take().expect("piped");
    let (sender, pieces) = channel();
    std::thread::spawn(move || {
        let mut buf = [0; 4096];
        while let Ok(len @ 1..) = screen.read(&mut buf) {
            if sender.send(buf[..len].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut bytes, begun, mut since, mut asked, mut is_pressed) =
        (Vec::new(), Instant::now(), None, 0, false);
    loop {
        match pieces.recv_timeout(Duration::from_millis(100)) {
            Ok(piece) => bytes.extend(piece),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A terminal answers where its cursor is.
        let questions = text.matches("\u{1b}[6n").count();
        for _ in asked..questions {
            keys.write_all(b"\x1b[5;1R").expect("it is read");
        }
        asked = questions;
        if since.is_none() && drawn(&text) {
            since = Some(Instant::now());
        }
        if !is_pressed && since.is_some_and(|since| since.elapsed() > Duration::from_secs(2)) {
            keys.write_all(&[3]).expect("it is read");
            is_pressed = true;
        }
        if text.contains("> all") && is_pressed {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on: {text}");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text between these marks.
fn between<'a>(text: &'a str, begin: &str) -> &'a str {
    let rest = text.split(begin).nth(1).unwrap_or_else(|| panic!("no `{begin}` in {text}"));
    rest.split('>').next().expect("an end")
}

/// The terminal has its settings and modes again: the cursor shows, and the screen is the usual one. The exit
/// code is `code`.
fn assert_restored(text: &str, code: &str) {
    assert_eq!(between(text, "code <"), code, "{text}");
    assert_eq!(between(text, "before <"), between(text, "after <"), "{text}");
    // The last word on each mode that was set: DECTCEM, the alternate screen, the mouse, pasting.
    for (mode, usual) in [("25", 'h'), ("1049", 'l'), ("1000", 'l'), ("2004", 'l')] {
        let set =
            text.rsplit(&format!("\u{1b}[?{mode}")).next().filter(|_| text.contains(&format!("[?{mode}")));
        let last = set.and_then(|rest| rest.chars().next());
        assert!(last.is_none_or(|last| last == usual), "mode {mode} stays {last:?}");
    }
}

/// Block characters of charts.
fn has_chart(text: &str) -> bool {
    text.chars()
        .filter(|c| ('\u{2581}'..='\u{2588}').contains(c) || ('\u{2801}'..='\u{28ff}').contains(c))
        .count()
        > 3
}

#[test]
fn loopback_views_draw_on_a_terminal_and_leave_it_as_it_was() {
    let test = "loopback_views_draw_on_a_terminal_and_leave_it_as_it_was";
    let _turn = turn();
    if !has(test, "script") {
        return;
    }
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let (program, word) =
        (env!("CARGO_BIN_EXE_goodqueue"), server.listening["word"].as_str().expect("a word"));
    let probe = format!("{program} probe 127.0.0.1 --port {} --length 1min", server.port);
    let is_drawn = |text: &str| text.contains("a probe every 20ms") && has_chart(text);
    let text = interrupted(&probe, is_drawn);
    assert_restored(&text, "130");
    assert!(text.contains("round trip"), "what was measured is shown: {text}");
    let load = format!(
        "{program} test 127.0.0.1 tcp_1up --port {} --key {word} --length 1min --idle 500ms",
        server.port
    );
    let text = interrupted(&load, has_chart);
    assert_restored(&text, "130");
    assert!(text.contains("the run was cut short"), "{text}");
}

/// Also if the signal that the kernel sends then (SIGHUP) is ignored, as below `nohup`.
#[test]
fn live_a_view_ends_with_its_terminal() {
    let test = "live_a_view_ends_with_its_terminal";
    let Some(_turn) = live(test) else { return };
    if !has(test, "script") {
        return;
    }
    // Its own words tell its process from those of other tests.
    let interval = format!("{}us", 500_000 + std::process::id() % 100_000);
    let watch = format!("trap '' HUP; exec {} watch --interval {interval}", env!("CARGO_BIN_EXE_goodqueue"));
    let mut script = on_terminal(&watch);
    let processes = || {
        let all = std::fs::read_dir("/proc").expect("a folder").flatten();
        let words = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
        let is_ours =
            |words: &Vec<u8>| words.split(|&byte| byte == 0).any(|word| word == interval.as_bytes());
        all.filter_map(words).filter(is_ours).count()
    };
    let within = |what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let mut screen = script.0.stdout.take().expect("piped");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("ends") {
        let mut buf = [0; 4096];
        let len = screen.read(&mut buf).expect("it draws");
        assert!(len > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend(&buf[..len]);
    }
    assert_eq!(processes(), 1, "the view");
    script.0.kill().expect("it ends");
    within("the view goes on without a terminal", &|| processes() == 0);
}

/// 60 interfaces on 40 lines.
#[test]
fn live_a_table_that_does_not_fit_says_so() {
    let test = "live_a_table_that_does_not_fit_says_so";
    let Some(_turn) = live(test) else { return };
    if !has(test, "script") {
        return;
    }
    let watch = format!(
        "unshare --map-root-user --net sh -c 'for n in $(seq 50); do ip link add a$n type veth peer name b$n; \
         tc qdisc add dev a$n root pfifo; done; exec {} watch --idle'",
        env!("CARGO_BIN_EXE_goodqueue")
    );
    // What was blank before is not drawn, so the words come without what is between them.
    let text = interrupted(&watch, |text| ["more", "--json", "ends"].iter().all(|word| text.contains(word)));
    assert_restored(&text, "0");
}
