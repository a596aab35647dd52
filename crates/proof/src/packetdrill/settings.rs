//! The settings that a script makes with shell commands. No command is run: lines of `sysctl`, `tc qdisc`,
//! `echo VALUE > /proc/sys/...` and `set_sysctls.py` are read as settings, and so is a file that the command
//! names, if it is in the script's folder. Everything else is left alone.

use std::path::Path;

/// A setting, or a command that is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `net.ipv4.NAME` and its value.
    Sysctl(String, String),
    /// `tc qdisc ... root KIND limit PACKETS`: the kind, and the limit if there is one.
    Qdisc(String, Option<u32>),
    /// A parameter of a kernel module, by its path, and its value.
    Parameter(String, String),
    /// The command runs this file, which is not beside the script.
    Missing(String),
    /// `ethtool -K ... tso off`, or `on`.
    Offload(bool),
    /// `ip link set ... mtu BYTES`.
    Mtu(u32),
    /// `ip tcp_metrics flush`: what is known of the peer is forgotten.
    Flush,
    /// `nstat`: the counters since the last call; `true`: the next call counts from now on.
    Counters(bool),
    /// `| grep NAME | grep " COUNT "`: a counter that must have counted, and how much.
    Counted(String, Option<u64>),
    /// Another command, which is not run.
    Command(String),
}

/// The most files that name each other.
const DEEPEST: u32 = 4;
/// Largest file that is read, bytes.
const LARGEST: u64 = 1 << 20;

/// The settings in a command. `folder` is where the script lies.
#[must_use]
pub fn read(command: &str, folder: &Path) -> Vec<Setting> {
    let mut settings = Vec::new();
    read_into(command, folder, DEEPEST, &mut settings);
    settings
}

fn read_into(command: &str, folder: &Path, depth: u32, settings: &mut Vec<Setting>) {
    let command = command.replace("\\\n", " ");
    for line in command.lines() {
        for statement in split(line) {
            let words = words(&statement);
            statement_into(&words, folder, depth, settings);
        }
    }
}

/// The statements of a line: split at `;` and `&&` outside quotes, and cut at a comment.
fn split(line: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut quote = None;
    let mut before = ' ';
    for c in line.chars() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => break,
            (None, ';' | '|') => statements.push(String::new()),
            (None, '&') if before == '&' => statements.push(String::new()),
            (None, '&') => {}
            _ => {
                if let Some(last) = statements.last_mut() {
                    last.push(c);
                }
                if quote == Some(c) {
                    quote = None;
                } else if quote.is_none() && (c == '"' || c == '\'') {
                    quote = Some(c);
                }
            }
        }
        before = c;
    }
    statements
}

/// Words, without their quotes.
fn words(statement: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in statement.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => words.push(String::new()),
            None if c == '>' => words.extend([">".to_owned(), String::new()]),
            _ => {
                if let Some(last) = words.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn statement_into(words: &[String], folder: &Path, depth: u32, settings: &mut Vec<Setting>) {
    let Some(first) = words.first() else { return };
    let rest = &words[1..];
    let name = first.rsplit('/').next().unwrap_or(first);
    match name {
        "sysctl" => {
            for word in rest.iter().filter(|word| !word.starts_with('-')) {
                if let Some((key, value)) = word.split_once('=') {
                    push(key, value, settings);
                }
            }
        }
        "set_sysctls.py" => {
            for (path, value) in rest.iter().filter_map(|word| word.split_once('=')) {
                push(path, value, settings);
            }
        }
        "echo" => {
            if let Some(arrow) = rest.iter().position(|word| word == ">")
                && let Some(path) = rest.get(arrow + 1)
            {
                let text = &rest[usize::from(rest[0] == "-n")..arrow];
                push(path, &text.join(" "), settings);
            }
        }
        "tc" if rest.len() > 1 && matches!(rest[1].as_str(), "del" | "delete") => {}
        "tc" if rest.first().is_some_and(|word| word == "qdisc") => {
            let root = rest.iter().position(|word| word == "root");
            let limit = rest.iter().position(|word| word == "limit").and_then(|at| rest.get(at + 1));
            if let Some(kind) = root.and_then(|at| rest.get(at + 1)) {
                settings.push(Setting::Qdisc(kind.clone(), limit.and_then(|limit| limit.parse().ok())));
            }
        }
        // `. file`, `source file`, `sh file` and the file itself.
        "." | "source" | "sh" | "bash" => {
            if let Some(file) = rest.first() {
                file_into(file, folder, depth, settings);
            }
        }
        "ethtool" if rest.first().is_some_and(|word| word == "-K") => {
            let is_tso = |word: &String| word == "tso";
            let value = rest.iter().position(is_tso).and_then(|at| rest.get(at + 1));
            settings.extend(value.map(|value| Setting::Offload(value == "on")));
        }
        // `dd` makes a file for `sendfile`; `nstat` alone begins to count.
        "true" | ":" | "exit" | "rm" | "dd" | "set" | "export" => {}
        "nstat" => settings.push(Setting::Counters(!rest.contains(&"-s".to_owned()))),
        // A look at the sockets of the machine.
        "grep" if rest.iter().any(|word| word.starts_with("/proc/net/tcp") || word.starts_with(':')) => {}
        "grep" => {
            let wanted = rest.iter().find(|word| word.starts_with("TcpExt"));
            let count = rest.iter().find_map(|word| word.trim().parse().ok());
            match (wanted, count, settings.last_mut()) {
                (Some(name), ..) => settings.push(Setting::Counted(name.clone(), None)),
                (None, Some(count), Some(Setting::Counted(_, expected))) => *expected = Some(count),
                _ => settings.push(Setting::Command("grep".to_owned())),
            }
        }
        "ip" if rest.first().is_some_and(|word| word == "link") && rest.contains(&"mtu".to_owned()) => {
            let value = rest.iter().position(|word| word == "mtu").and_then(|at| rest.get(at + 1));
            settings.extend(value.and_then(|mtu| mtu.parse().ok()).map(Setting::Mtu));
        }
        "ip" if rest.first().is_some_and(|word| word == "tcp_metrics") => settings.push(Setting::Flush),
        _ if name.ends_with(".sh") => file_into(first, folder, depth, settings),
        _ => {
            let words = words.iter().take(3).map(String::as_str);
            settings.push(Setting::Command(words.collect::<Vec<_>>().join(" ")));
        }
    }
}

fn file_into(file: &str, folder: &Path, depth: u32, settings: &mut Vec<Setting>) {
    if file.starts_with('/') {
        // Not of the suite: what restores the settings at the end.
        return;
    }
    let path = folder.join(file);
    let is_small = std::fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    match std::fs::read_to_string(&path) {
        Ok(text) if depth > 0 && is_small => read_into(&text, folder, depth - 1, settings),
        _ => settings.push(Setting::Missing(file.to_owned())),
    }
}

/// Keeps a setting, by the name that `sysctl` has for it.
fn push(key: &str, value: &str, settings: &mut Vec<Setting>) {
    let value = arithmetic(value.trim());
    let key = key.trim();
    let dotted = key.strip_prefix("/proc/sys/").unwrap_or(key).replace('/', ".");
    if key.starts_with("/sys/") {
        settings.push(Setting::Parameter(key.to_owned(), value));
    } else if let Some(name) = dotted.strip_prefix("net.ipv4.") {
        settings.push(Setting::Sysctl(name.to_owned(), value));
    } else {
        settings.push(Setting::Sysctl(dotted, value));
    }
}

/// The value with products in `$((a*b))` computed.
fn arithmetic(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("$((") {
        let Some((inner, behind)) = after.split_once("))") else { break };
        out.push_str(before);
        let product = inner.split('*').map(|factor| factor.trim().parse::<u64>().ok());
        match product.reduce(|a, b| a?.checked_mul(b?)).flatten() {
            Some(product) => out.push_str(&product.to_string()),
            None => out.push_str(inner),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctl(name: &str, value: &str) -> Setting {
        Setting::Sysctl(name.to_owned(), value.to_owned())
    }

    #[test]
    fn lines_of_sysctl_tc_and_set_sysctls_are_settings_and_others_are_not() {
        let command = "./defaults.sh\n./set_sysctls.py /proc/sys/net/ipv4/tcp_ecn=1 \\\n \
            /proc/sys/net/ipv4/tcp_wmem=\"4096 50000 4194304\"\n\
            sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\" # a comment\n\
            tc qdisc replace dev tun0 root fq; rm -rf /; modprobe sch_fq\n\
            echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect";
        let settings = read(command, Path::new("/nowhere"));
        let wanted = [
            Setting::Missing("./defaults.sh".to_owned()),
            sysctl("tcp_ecn", "1"),
            sysctl("tcp_wmem", "4096 50000 4194304"),
            sysctl("tcp_rmem", "4096 540000 15728640"),
            Setting::Qdisc("fq".to_owned(), None),
            Setting::Command("modprobe sch_fq".to_owned()),
            Setting::Parameter("/sys/module/tcp_cubic/parameters/hystart_detect".to_owned(), "3".to_owned()),
        ];
        assert_eq!(settings, wanted);
    }
}
