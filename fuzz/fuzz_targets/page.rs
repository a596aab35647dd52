#![no_main]
use goodqueue_path::http::{MOST_BYTES, Page, answer};

const PAGE: Page = Page { path: "/metrics", media_type: "text/plain" };
const TEXT: &str = "goodqueue_server_sessions 1\n";

// What strangers say to the port of the counters: an answer is complete, and the page is given for no other
// path and method. A byte in front says whether the input is to begin as a request does.
libfuzzer_sys::fuzz_target!(|input: (u8, Vec<u8>)| {
    let (how, rest) = input;
    let begin: &[u8] = match how & 3 {
        0 => b"",
        1 => b"GET /metrics",
        2 => b"GET /metrics HTTP/1.1\r\n",
        _ => b"HEAD ",
    };
    let request = [begin, &rest].concat();
    let Some(text) = answer(&request, PAGE, &|| TEXT.into()) else {
        assert!(request.len() <= MOST_BYTES, "a request that is too long is refused");
        return;
    };
    let (head, body) = text.split_once("\r\n\r\n").expect("a header and its end");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).expect("a status");
    assert!(["200", "400", "404", "405", "431"].iter().any(|code| status.starts_with(code)), "{status}");
    let length = lines.find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
    let is_head = request.starts_with(b"HEAD");
    if !is_head {
        assert_eq!(length.parse(), Ok(body.len()));
    }
    // Lines before the first are no part of a request.
    let trimmed =
        request.iter().position(|byte| !b"\r\n".contains(byte)).map_or(&[][..], |at| &request[at..]);
    if body == TEXT {
        assert!(status == "200 OK" && trimmed.starts_with(b"GET /metrics"), "{trimmed:?}");
    }
});
