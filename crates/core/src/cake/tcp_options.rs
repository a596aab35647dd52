//! TCP options as `ack-filter` reads them.

/// End of the options (RFC 9293 section 3.2).
const EOL: u8 = 0;
/// No operation (RFC 9293 section 3.2).
const NOP: u8 = 1;
/// Selective acknowledgement (RFC 2018).
pub(super) const SACK: u8 = 5;
/// Timestamps (RFC 7323).
pub(super) const TIMESTAMP: u8 = 8;
/// MD5 signature (RFC 2385).
pub(super) const MD5: u8 = 19;

/// Iterates over the options: kind and content. It stops at the end of the options or at an option with an
/// impossible length.
pub(super) struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub(super) const fn new(options: &'a [u8]) -> Options<'a> {
        Options { rest: options }
    }

    /// The content of the first option of this kind.
    pub(super) fn find(mut self, kind: u8) -> Option<&'a [u8]> {
        self.find_map(|(known, content)| (known == kind).then_some(content))
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        loop {
            let (&kind, rest) = self.rest.split_first()?;
            match kind {
                EOL => return None,
                NOP => self.rest = rest,
                _ => {
                    let length = usize::from(*rest.first()?);
                    let content = self.rest.get(2..length)?;
                    self.rest = &self.rest[length..];
                    return Some((kind, content));
                }
            }
        }
    }
}

/// The 32-bit number at the start of `bytes`; 0 if there are fewer than four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |&four| u32::from_be_bytes(four))
}

/// Value and echo of a timestamp option's content.
pub(super) fn timestamps(content: &[u8]) -> Option<(u32, u32)> {
    (content.len() == 8).then(|| (number(content), number(&content[4..])))
}

/// The blocks of a SACK option's content, first and last sequence number.
pub(super) fn blocks(content: &[u8]) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
    content.chunks_exact(8).map(|block| (number(block), number(&block[4..])))
}

/// Whether sequence number `a` comes after `b` (RFC 9293 section 3.4).
pub(super) const fn is_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_their_lengths_do() {
        let kinds = |bytes: &[u8]| -> u32 { Options::new(bytes).map(|(kind, _)| u32::from(kind)).sum() };
        assert_eq!(kinds(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 19, 3, 9]), 27);
        assert_eq!(kinds(&[8, 10, 0, 0]), 0, "longer than what is there");
        assert_eq!(kinds(&[5, 1, 19, 2]), 0, "a length below two");
        assert_eq!(kinds(&[1, 1, 1, 5]), 0, "no length");
        assert_eq!(kinds(&[19, 2, 0, 19, 2]), 19, "past the end");
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert!(is_after(1, u32::MAX) && !is_after(u32::MAX, 1) && !is_after(5, 5));
    }
}
