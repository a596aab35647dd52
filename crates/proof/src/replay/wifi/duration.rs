//! Rows of `wifi-duration`: a question to the airtime estimator and its answer in us.

use goodqueue::wifi::duration::{
    Attempt, calc_expected_broadcast_airtime, calc_expected_tx_airtime, calc_rx_airtime, calc_tx_airtime,
};
use goodqueue::wifi::{Band, HeGi, RateInfo, Width};

use crate::replay::Fault;
use crate::replay::compare::Comparison;
use crate::replay::report::Difference;
use crate::replay::text::{Entry, Fields, Text, number};

pub(super) fn replay(
    text: &Text<'_>,
    settings: &[Entry<'_>],
    compared: &mut Comparison<'_>,
) -> Result<Option<Difference>, Fault> {
    if let Some(Entry { line, key, .. }) = settings.first() {
        return Err(Fault::at(*line, format!("unknown header key `{key}`")));
    }
    for (line, row) in text.records() {
        let mut fields = Fields::of(line, row);
        let got = answer(&mut fields)?;
        let expected: u32 = fields.number("answer")?;
        fields.end()?;
        compared.called(fields.kind);
        if got != expected {
            let (expected, got) = (format!("{expected} us"), format!("{got} us"));
            return Ok(Some(compared.difference(line, "duration", &expected, &got)));
        }
        compared.agreed(fields.kind);
    }
    Ok(None)
}

fn answer(fields: &mut Fields<'_>) -> Result<u32, Fault> {
    match fields.kind {
        "rx" => {
            let band = band(fields)?;
            let rate = Question::read(fields)?.rate(band, Legacy::Index);
            let (is_short, len) = (switch(fields, "sp")?, fields.number("len")?);
            Ok(rate.map_or(0, |rate| calc_rx_airtime(band, &rate, is_short, len)))
        }
        "exp" => {
            let band = band(fields)?;
            let rate = Question::read(fields)?.rate(band, Legacy::Rate);
            let (ampdu, len) = (switch(fields, "ampdu")?, fields.number("len")?);
            Ok(rate.map_or(0, |rate| calc_expected_tx_airtime(band, &rate, len, ampdu)))
        }
        "bcast" => {
            let (band, rates) = (band(fields)?, fields.number("basic_rates")?);
            let is_short = switch(fields, "sp")?;
            Ok(calc_expected_broadcast_airtime(band, rates, is_short, fields.number("len")?))
        }
        "tx" => tx(fields),
        other => Err(fields.fault(format!("unknown row `{other}`"))),
    }
}

/// The retry chain, of any length; the answer is the last field.
fn tx(fields: &mut Fields<'_>) -> Result<u32, Fault> {
    let (band, len) = (band(fields)?, fields.number("len")?);
    let mut chain = Vec::new();
    let mut is_ended = false;
    while fields.next_has_colon() {
        let line = fields.line;
        let entry = fields.text("entry")?;
        let parts: Vec<&str> = entry.split(':').collect();
        let [enc, idx, nss, bw, gi, sp, count] = parts[..] else {
            return Err(Fault::at(line, format!("`{entry}` is no enc:idx:nss:bw:gi:sp:count")));
        };
        let question = Question {
            enc: encoding(line, enc)?,
            idx: number(line, "idx", idx)?,
            nss: number(line, "nss", nss)?,
            bw: number(line, "bw", bw)?,
            gi: number(line, "gi", gi)?,
        };
        let (short_preamble, count) = (number::<u8>(line, "sp", sp)? != 0, number(line, "count", count)?);
        match question.rate(band, Legacy::Index) {
            Some(rate) if !is_ended => chain.push(Attempt { rate, short_preamble, count }),
            _ => is_ended = true,
        }
    }
    Ok(calc_tx_airtime(band, len, &chain))
}

fn band(fields: &mut Fields<'_>) -> Result<Band, Fault> {
    let number: u8 = fields.number("band")?;
    band_of(fields.line, number)
}

pub(super) fn band_of(line: usize, number: u8) -> Result<Band, Fault> {
    match number {
        2 => Ok(Band::Ghz2),
        5 => Ok(Band::Ghz5),
        other => Err(Fault::at(line, format!("band: {other} is neither 2 nor 5"))),
    }
}

fn switch(fields: &mut Fields<'_>, name: &str) -> Result<bool, Fault> {
    Ok(fields.number::<u8>(name)? != 0)
}

#[derive(Clone, Copy)]
enum Encoding {
    Legacy,
    Ht,
    Vht,
    He,
}

fn encoding(line: usize, word: &str) -> Result<Encoding, Fault> {
    Ok(match word {
        "legacy" => Encoding::Legacy,
        "ht" => Encoding::Ht,
        "vht" => Encoding::Vht,
        "he" => Encoding::He,
        _ => return Err(Fault::at(line, format!("unknown encoding `{word}`"))),
    })
}

/// What the number of a legacy rate is.
#[derive(Clone, Copy)]
enum Legacy {
    /// Its place in the band's table.
    Index,
    /// The rate, in units of 100 kbit/s.
    Rate,
}

/// A rate as the files write it; not all that can be written is one.
struct Question {
    enc: Encoding,
    idx: i32,
    nss: u8,
    bw: u32,
    gi: u8,
}

impl Question {
    fn read(fields: &mut Fields<'_>) -> Result<Question, Fault> {
        let word = fields.text("enc")?;
        Ok(Question {
            enc: encoding(fields.line, word)?,
            idx: fields.number("idx")?,
            nss: fields.number("nss")?,
            bw: fields.number("bw")?,
            gi: fields.number("gi")?,
        })
    }

    /// The rate, if it is one.
    fn rate(&self, band: Band, legacy: Legacy) -> Option<RateInfo> {
        if matches!(self.enc, Encoding::Legacy) {
            let rate = match legacy {
                Legacy::Index => *band.legacy_rates().get(usize::try_from(self.idx).ok()?)?,
                Legacy::Rate => u16::try_from(self.idx).ok()?,
            };
            return Some(RateInfo::Legacy { rate });
        }
        let (mcs, nss) = (u8::try_from(self.idx).ok()?, self.nss);
        let (width, short_gi) = (Width::from_mhz(self.bw)?, self.gi != 0);
        Some(match self.enc {
            Encoding::Ht => RateInfo::Ht { mcs, width, short_gi },
            Encoding::Vht => RateInfo::Vht { mcs, nss, width, short_gi },
            _ => RateInfo::He { mcs, nss, width, gi: he_gi(self.gi)? },
        })
    }
}

/// The guard interval of HE by its number.
pub(super) const fn he_gi(number: u8) -> Option<HeGi> {
    Some(match number {
        0 => HeGi::Ns800,
        1 => HeGi::Ns1600,
        2 => HeGi::Ns3200,
        _ => return None,
    })
}
