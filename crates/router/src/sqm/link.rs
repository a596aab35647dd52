//! What the link behind an interface adds to a packet, in tc's keywords.

use std::str::FromStr;

use goodqueue::cake::{Framing, LinkKind};
use goodqueue::spec::Word;

use crate::{Error, Result};

/// The link behind an interface, in the keywords of tc-cake(8): `pppoe-ptm`, `atm`, `docsis,ether-vlan`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkWords {
    /// The kind of link.
    pub kind: Option<LinkKind>,
    /// The framing, instead of that of `kind`.
    pub framing: Option<Framing>,
    /// VLAN tags that the link adds, 4 bytes each: 0 to 3.
    pub tags: u8,
}

impl LinkWords {
    /// The most VLAN tags (`ether-vlan` of the library's `cake`).
    const MOST_TAGS: u8 = 3;

    /// Overhead without VLAN tags and minimum length, both in bytes, and framing, as far as the keywords say.
    fn meaning(self) -> (Option<i16>, u16, Framing) {
        let (overhead, mpu, framing) = self.kind.map_or((None, 0, Framing::None), LinkKind::meaning);
        (overhead, mpu, self.framing.unwrap_or(framing))
    }

    /// Fails if VLAN tags are all that is known about what the link adds. tc would then count 4 bytes from
    /// the network header, without the Ethernet header before them (`q_cake.c`).
    pub(super) fn check(self, overhead: Option<i16>) -> Result<()> {
        if self.tags > 0 && overhead.or(self.meaning().0).is_none() {
            return Err(Error::Refused(
                "--link ether-vlan: a VLAN tag comes on top of what the link adds, so name the link, too, as in --link \
                 ethernet,ether-vlan, or give --overhead"
                    .into(),
            ));
        }
        Ok(())
    }

    /// As parameters of the library's `cake`.
    pub(super) fn parameters(self) -> String {
        let mut text = String::new();
        if let Some(at) = LinkKind::ALL.iter().position(|known| Some(*known) == self.kind) {
            text += &format!(",link={}", LinkKind::WORDS[at]);
        }
        if let Some(at) = Framing::ALL.iter().position(|known| Some(*known) == self.framing) {
            text += &format!(",atm={}", Framing::WORDS[at]);
        }
        if self.tags > 0 {
            text += &format!(",ether-vlan={}", self.tags);
        }
        text
    }
}

impl FromStr for LinkWords {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<LinkWords, String> {
        let mut link = LinkWords::default();
        for word in text.split(',') {
            let of = |words: &[&str]| words.iter().position(|known| *known == word);
            let is_second = if let Some(at) = of(LinkKind::WORDS) {
                link.kind.replace(LinkKind::ALL[at]).is_some()
            } else if let Some(at) = of(Framing::WORDS) {
                link.framing.replace(Framing::ALL[at]).is_some()
            } else if word == "ether-vlan" {
                link.tags += 1;
                link.tags > LinkWords::MOST_TAGS
            } else {
                let (kinds, framings) = (LinkKind::WORDS.join(", "), Framing::WORDS.join(", "));
                return Err(format!(
                    "{text}: there is no such link as {word}; the links are {kinds}; behind one, or alone, its framing \
                     ({framings}), and ether-vlan for each VLAN tag"
                ));
            };
            if is_second {
                return Err(format!(
                    "{text}: {word} is too much; take one kind of link, one framing, and at most {} times ether-vlan",
                    LinkWords::MOST_TAGS
                ));
            }
        }
        Ok(link)
    }
}

/// What the link adds to a packet, for `htb`.
pub(super) struct LinkBytes {
    /// Bytes on top of the network header.
    pub overhead: Option<i16>,
    /// The smallest length that a packet counts as, bytes.
    pub mpu: Option<u16>,
    /// Whether the link cuts packets into cells of ATM.
    pub is_atm: bool,
}

impl LinkBytes {
    /// `overhead` and `mpu` replace those of the link. Fails if `htb` cannot count the framing.
    pub(super) fn of(link: LinkWords, overhead: Option<i16>, mpu: Option<u16>) -> Result<LinkBytes> {
        link.check(overhead)?;
        let (of_link, least, framing) = link.meaning();
        if framing == Framing::Ptm {
            return Err(Error::Refused(
                "htb cannot count the 64b/65b coding of PTM links; use --layout piece_of_cake, or give --overhead and \
                 a rate 1.6% lower"
                    .into(),
            ));
        }
        Ok(LinkBytes {
            overhead: overhead.or(of_link).map(|bytes| bytes + 4 * i16::from(link.tags)),
            mpu: mpu.or((least > 0).then_some(least)),
            is_atm: framing == Framing::Atm,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_link_are_refused_with_the_words_that_are() {
        for (words, told) in [
            ("dsl", "no such link as dsl; the links are raw, conservative, ethernet"),
            ("atm,ptm", "ptm is too much; take one kind of link, one framing"),
            ("docsis,ethernet", "ethernet is too much"),
            ("docsis,ether-vlan,ether-vlan,ether-vlan,ether-vlan", "at most 3 times ether-vlan"),
            ("", "no such link as ;"),
        ] {
            let error = words.parse::<LinkWords>().expect_err(words);
            assert!(error.contains(told), "{error}");
        }
    }
}
