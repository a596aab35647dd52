//! Generates `include/goodqueue.h` from `src/abi.rs`, `src/code.rs` and `src/ffi/`, with their comments:
//!
//! ```sh
//! cargo run -p goodqueue-capi --example header > crates/capi/include/goodqueue.h
//! ```
//!
//! It reads the sources line by line, as rustfmt formats them, and stops at an unknown construct. The
//! parameters of each kind of queue, and their descriptions, come from the catalogue of queues.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue::spec::{CATALOGUE, Default, Parameter, Parameters, Unit, Value};
use goodqueue::wifi::WifiParams;

const PREAMBLE: &str = "\
/*
 * Goodqueue: queues against queueing delay (bufferbloat), byte queue limits, and the transmit stack of
 * a Wi-Fi radio, for C99 and C++17.
 * Generated from the Rust sources by `cargo run -p goodqueue-capi --example header`; do not edit.
 *
 * Memory     The caller provides it; nothing is allocated. A queue sees descriptors; frames stay with the
 *            caller, which identifies them by the cookie.
 * Time       Nanoseconds since any moment, a parameter of each call; it must not go backward.
 * Threads    Different queues and rings are independent. Calls on one must not overlap: the caller
 *            locks. There are no callbacks and no hidden state.
 * Results    0 or more: success, see each function. Negative: GQ_E..., an error of the caller, counted in
 *            the queue or ring if there is one; gq_strerror has the text. Null, misaligned and too short
 *            are detected; another invalid pointer is not.
 * Structs    Every struct begins with its size, which the caller sets to its sizeof. Fields may be
 *            added at the end; fields that a caller's shorter struct lacks have their defaults.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef GOODQUEUE_H
#define GOODQUEUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/** A queue in the caller's memory. */
struct gq_queue;

/** The transmit stack of an 802.11 radio in the caller's memory. */
struct gq_wifi;

";

const END: &str = "\
#ifdef __cplusplus
}
#endif

#endif
";

/// Converts `BqlConfig` to `gq_bql_config`.
fn snake(name: &str) -> String {
    let mut out = String::from("gq");
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// The C declaration of `name` for a Rust type.
fn declare(kind: &str, name: &str) -> String {
    if let Some((item, count)) =
        kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')?.split_once("; "))
    {
        return declare(item, &format!("{name}[{count}]"));
    }
    if let Some(inner) = kind.strip_prefix("MaybeUninit<").and_then(|kind| kind.strip_suffix('>')) {
        return declare(inner, name);
    }
    if let Some(target) = kind.strip_prefix("*mut ") {
        return declare(target, &format!("*{name}"));
    }
    if let Some(target) = kind.strip_prefix("*const ") {
        return format!("const {}", declare(target, &format!("*{name}")));
    }
    let plain = match kind {
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "i32" => "int32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "c_char" => "char",
        "c_void" => "void",
        other => &format!("struct {}", snake(other.trim_start_matches("abi::"))),
    };
    if name.is_empty() { plain.to_owned() } else { format!("{plain} {name}") }
}

/// A comment block with this indentation.
fn comment(out: &mut String, docs: &[String], indent: &str) {
    let mut lines = vec![String::new()];
    for doc in docs {
        match doc.strip_prefix("\n") {
            Some(_) if lines == [""] => {}
            Some(_) => lines.push(String::new()),
            None if doc.is_empty() => lines.extend([String::new(), String::new()]),
            None => {}
        }
        for word in doc.replace('`', "").split_whitespace() {
            let is_full = lines.last().is_some_and(|line| line.len() + 1 + word.len() + indent.len() > 96);
            if is_full {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
    }
    if let [line] = &lines[..] {
        let _ = writeln!(out, "{indent}/** {line} */");
        return;
    }
    for (at, line) in lines.iter().enumerate() {
        let begin = if at == 0 { "/**" } else { " *" };
        let _ = writeln!(out, "{}", format!("{indent}{begin} {line}").trim_end());
    }
    let _ = writeln!(out, "{indent} */");
}

/// A value as it is in a field.
fn number(parameter: &Parameter, value: Value) -> String {
    match (parameter.unit, value) {
        (_, Value::Signed(bytes)) => bytes.to_string(),
        (Unit::Digits, Value::Digits(digits)) => format!("0x{digits:016x}"),
        (unit, value) => unit.number(value).expect("a value of the unit").to_string(),
    }
}

/// The valid values of a parameter.
fn values(parameter: &Parameter) -> String {
    let unit = match parameter.unit {
        Unit::Switch => return "0 or 1".to_owned(),
        Unit::Digits => return "16 digits in base 16, that of 0 first".to_owned(),
        Unit::TimeOrPackets => return "ns".to_owned(),
        Unit::Queue => return "a queue".to_owned(),
        Unit::Word(words) => {
            let words: Vec<String> =
                words.iter().enumerate().map(|(at, word)| format!("{at} {word}")).collect();
            return words.join(", ");
        }
        Unit::Packets | Unit::Count => "",
        Unit::PowerOfTwo => ", a power of two",
        Unit::Bytes => " bytes",
        Unit::Signed => " bytes, below 0 as (uint32_t)-14",
        Unit::Time | Unit::TimeOr(_) => " ns",
        Unit::Decimal => " millionths",
        Unit::Rate => " bit/s",
    };
    let (min, max) = parameter.range.expect("a range");
    format!("{} to {}{unit}", number(parameter, min), number(parameter, max))
}

/// The description of a parameter from the catalogue, its values and its default.
fn words(parameter: &Parameter) -> String {
    let default = match parameter.default {
        Default::Required => "must be given".to_owned(),
        Default::Value(value) => {
            let value = value().expect("a default in the range");
            format!("default {}", number(parameter, value))
        }
        Default::Off => "default: off".to_owned(),
        Default::Mtus(1) => "default: mtu".to_owned(),
        Default::Mtus(times) => format!("default: {times} mtu"),
        Default::Derived(words) | Default::Queue(words) => format!("default: {words}"),
    };
    format!("{} ({}; {default}).", parameter.doc, values(parameter))
}

/// The comment on the field of a parameter: its description in each queue that has it.
fn parameter_docs(strukt: &str, field: &str) -> Vec<String> {
    let is_field =
        |parameter: &&Parameter| parameter.unit != Unit::Queue && parameter.name.replace('-', "_") == field;
    if strukt == "WifiConfig" {
        return WifiParams::LIST.iter().filter(is_field).map(words).collect();
    }
    let mut meanings: Vec<(Vec<&str>, String)> = Vec::new();
    // A queue of the C library has one thread, and `cake_mq` is for several.
    for info in CATALOGUE.iter().filter(|info| info.name != "cake_mq") {
        let Some(parameter) = info.parameters.iter().find(is_field) else { continue };
        let words = words(parameter);
        match meanings.iter_mut().find(|(_, known)| *known == words) {
            Some((queues, _)) => queues.push(info.name),
            None => meanings.push((vec![info.name], words)),
        }
    }
    meanings.iter().map(|(queues, words)| format!("\n{}: {words}", queues.join(", "))).collect()
}

/// The parameters of a kind of queue, which the catalogue lists: `GQ_CODEL` is `codel` there.
fn kind_docs(constant: &str) -> String {
    let name = constant.trim_start_matches("GQ_").to_ascii_lowercase();
    let info = CATALOGUE.iter().find(|info| info.name == name);
    let info = info.unwrap_or_else(|| panic!("{constant}: the catalogue has no queue {name}"));
    let words = |parameter: &Parameter| {
        let name = parameter.name.replace('-', "_");
        if parameter.is_required() { format!("{name} (must be given)") } else { name }
    };
    let parameters = info.parameters.iter().filter(|parameter| parameter.unit != Unit::Queue);
    let parameters: Vec<String> = parameters.map(words).collect();
    let plural = if parameters.len() == 1 { "" } else { "s" };
    format!("Parameter{plural}: {}.", parameters.join(", "))
}

/// The value of a constant in C.
fn constant(kind: &str, value: &str) -> String {
    let value = value.replace('_', "");
    match (kind, value.as_str()) {
        ("u32", "u32::MAX") => "UINT32_MAX".to_owned(),
        ("u64", "u64::MAX") => "UINT64_MAX".to_owned(),
        ("u32", number) => format!("UINT32_C({number})"),
        ("u64", number) => format!("UINT64_C({number})"),
        ("i32", number) => number.to_owned(),
        other => panic!("a constant of a type that is not known here: {other:?}"),
    }
}

/// Constants and structs. A struct that begins with a `Head` gets its fields.
fn items(out: &mut String, source: &str) {
    let mut docs = Vec::new();
    let (mut is_in_struct, mut is_in_head, mut head) = (false, false, String::new());
    let mut strukt = "";
    for line in source.lines() {
        let text = line.trim();
        let item = text.strip_prefix("pub(crate) ").unwrap_or(text);
        if let Some(doc) = text.strip_prefix("///") {
            docs.push(doc.trim().to_owned());
            continue;
        } else if let Some((name, value)) =
            item.strip_prefix("const ").and_then(|rest| rest.split_once(" = "))
        {
            let (name, kind) = name.split_once(": ").expect("a constant has a type");
            if docs.first().is_some_and(|first: &String| first.starts_with("`kind`: ")) {
                docs.push(kind_docs(name));
            }
            comment(out, &docs, "");
            let _ = writeln!(out, "#define {name} {}\n", constant(kind, value.trim_end_matches(';')));
        } else if item == "struct Head {" {
            (is_in_struct, is_in_head) = (true, true);
        } else if is_in_head && text == "}" {
            (is_in_struct, is_in_head) = (false, false);
        } else if is_in_struct && item == "head: Head," {
            out.push_str(&head);
        } else if let Some(name) = item.strip_prefix("struct ").filter(|name| !name.contains('$')) {
            comment(out, &docs, "");
            strukt = name.trim_end_matches(" {");
            let _ = writeln!(out, "struct {} {{", snake(strukt));
            is_in_struct = true;
        } else if is_in_struct && text == "}" {
            out.push_str("};\n\n");
            is_in_struct = false;
        } else if is_in_struct {
            let (name, kind) = item.trim_end_matches(',').split_once(": ").expect("a field has a type");
            let out = if is_in_head { &mut head } else { &mut *out };
            if matches!(strukt, "Config" | "WifiConfig") {
                let mut all = parameter_docs(strukt, name);
                if let (false, Some(first)) = (all.is_empty(), docs.first_mut()) {
                    first.insert(0, '\n');
                }
                all.append(&mut docs);
                docs = all;
            }
            comment(out, &docs, "\t");
            let _ = writeln!(out, "\t{};", declare(kind, name));
        } else if text.starts_with("#[") {
            continue;
        }
        docs.clear();
    }
}

/// Error codes.
fn codes(out: &mut String, source: &str) {
    let mut docs = Vec::new();
    for text in source.lines().map(str::trim) {
        if let Some(doc) = text.strip_prefix("/// ") {
            docs.push(doc.to_owned());
        } else {
            if let Some((name, rest)) = text.split_once(" = -")
                && name.starts_with("GQ_E")
            {
                let number = rest.split_once(',').expect("a number and a text").0;
                comment(out, &docs, "");
                let _ = writeln!(out, "#define {name} (-{number})\n");
            }
            docs.clear();
        }
    }
}

/// Functions.
fn functions(out: &mut String, source: &str) {
    let mut docs = Vec::new();
    let mut lines = source.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim().to_owned());
        } else if line == "#[unsafe(no_mangle)]" {
            let mut signature = String::new();
            for line in lines.by_ref() {
                signature.push_str(line);
                signature.push(' ');
                if line.ends_with('{') {
                    break;
                }
            }
            comment(out, &docs, "");
            function(out, &signature);
        } else {
            docs.clear();
        }
    }
}

fn function(out: &mut String, signature: &str) {
    let signature = signature.split_once("extern \"C\" fn ").expect("a function for C").1;
    let (name, rest) = signature.split_once('(').expect("parameters");
    let (parameters, result) = rest.split_once(") -> ").expect("a result");
    let parameters: Vec<String> = parameters
        .split(',')
        .filter_map(|parameter| parameter.trim().split_once(": "))
        .map(|(name, kind)| declare(kind, name))
        .collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let result = declare(result.trim_end_matches([' ', '{']), "");
    let space = if result.ends_with('*') { "" } else { " " };
    let _ = writeln!(out, "{result}{space}{name}({parameters});\n");
}

/// The complete header.
pub(crate) fn header() -> String {
    let source = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut out = PREAMBLE.to_owned();
    items(&mut out, &source("abi.rs"));
    items(&mut out, &source("abi/wifi.rs"));
    codes(&mut out, &source("code.rs"));
    for file in ["info", "queue", "bql", "wifi"] {
        functions(&mut out, &source(&format!("ffi/{file}.rs")));
    }
    out.push_str(END);
    out
}

#[allow(dead_code, reason = "the test that compares the header in the tree includes this file")]
fn main() {
    print!("{}", header());
}
