#![no_main]
use std::io::{ErrorKind, Read};

use goodqueue_path::clocks::{Point, clocks};
use goodqueue_path::load::Secret;
use goodqueue_path::load::message::{Ask, Lines, MOST_ASKED, Tell, line};
use goodqueue_probe::net::{PREFACE_LEN, SessionId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns bytes in pieces of this size, and says between two that it would block.
struct Pieces<'a>(&'a [u8], usize, bool);

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let len = self.1.clamp(1, buf.len()).min(self.0.len());
        let (piece, rest) = self.0.split_at(len);
        buf[..len].copy_from_slice(piece);
        self.0 = rest;
        Ok(len)
    }
}

/// Reads all messages; each can be said again and is the same.
fn read<M: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8], piece: usize) {
    let (mut lines, mut from) = (Lines::new(MOST_ASKED), Pieces(bytes, piece, false));
    for _ in 0..2 * bytes.len() + 4 {
        match lines.message::<M>(&mut from) {
            Ok(Some(message)) => {
                let again = serde_json::from_str::<M>(&line(&message)).expect("it was said by us");
                assert_eq!(again, message);
            }
            Ok(None) => {}
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData), "{error}");
                if error.kind() == ErrorKind::UnexpectedEof {
                    return;
                }
            }
        }
    }
}

// What strangers say on a control connection and in front of a flow, words as people type them, and times of
// probes as another host tells them.
libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>, Vec<(i64, i64, i64)>)| {
    let (piece, bytes, times) = input;
    read::<Ask>(&bytes, usize::from(piece) * 8);
    read::<Tell>(&bytes, usize::from(piece) * 8);
    if let Some(preface) = bytes.first_chunk::<PREFACE_LEN>()
        && let Some(id) = SessionId::parse(preface)
    {
        assert_eq!(id.preface(), *preface);
        assert_eq!(SessionId::from_hex(&id.to_hex()), Some(id));
    }
    if let Ok(text) = std::str::from_utf8(&bytes) {
        if let Some(id) = SessionId::from_hex(text) {
            assert!(id.to_hex().eq_ignore_ascii_case(text));
        }
        assert_eq!(Secret::of(text).is_some(), text.trim().chars().count() >= 12);
    }
    let shift = piece % 48;
    let point = |&(t, up, down): &(i64, i64, i64)| Point {
        t: t >> (shift / 2),
        up: up >> shift,
        down: down >> shift,
    };
    let mut points: Vec<Point> = times.iter().map(point).collect();
    points.sort_by_key(|point| point.t);
    if let Some(found) = clocks(&points) {
        for point in &points {
            let _ = found.ahead(point.t);
        }
    }
});
