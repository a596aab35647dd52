//! `struct gq_wifi_rate`.

use goodqueue::wifi::{HeGi, RateInfo, Width};

use crate::abi::wifi::{GQ_RATE_HE, GQ_RATE_HT, GQ_RATE_LEGACY, GQ_RATE_VHT, WifiRate};
use crate::code::{Code, GQ_EVALUE};

impl WifiRate {
    /// The rate that the fields describe; does not check whether the standard has it.
    pub(crate) fn info(&self) -> Result<RateInfo, Code> {
        let small = |number: u32| u8::try_from(number).map_err(|_| GQ_EVALUE);
        let width = || Width::from_mhz(self.width).ok_or(GQ_EVALUE);
        let short_gi = || match self.guard {
            400 => Ok(true),
            800 => Ok(false),
            _ => Err(GQ_EVALUE),
        };
        Ok(match self.format {
            GQ_RATE_LEGACY => RateInfo::Legacy { rate: u16::try_from(self.legacy).map_err(|_| GQ_EVALUE)? },
            GQ_RATE_HT => RateInfo::Ht { mcs: small(self.mcs)?, width: width()?, short_gi: short_gi()? },
            GQ_RATE_VHT => RateInfo::Vht {
                mcs: small(self.mcs)?,
                nss: small(self.nss)?,
                width: width()?,
                short_gi: short_gi()?,
            },
            GQ_RATE_HE => {
                let gi = match self.guard {
                    800 => HeGi::Ns800,
                    1600 => HeGi::Ns1600,
                    3200 => HeGi::Ns3200,
                    _ => return Err(GQ_EVALUE),
                };
                RateInfo::He { mcs: small(self.mcs)?, nss: small(self.nss)?, width: width()?, gi }
            }
            _ => return Err(GQ_EVALUE),
        })
    }
}
