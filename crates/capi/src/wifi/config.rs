//! `struct gq_wifi_config` and the parameters of the stack: each parameter has a field.

use goodqueue::wifi::{Capacity, WifiParams};

use crate::abi::wifi::WifiConfig;
use crate::abi::{GQ_DEFAULT, GQ_DROPS_ALL};
use crate::code::{Code, GQ_EVALUE};

impl WifiConfig {
    /// Every parameter at its default.
    pub(crate) const fn standard() -> WifiConfig {
        WifiConfig {
            size: size_of::<WifiConfig>() as u32,
            stations: 64,
            interfaces: 1,
            flows: 4096,
            drop_slots: GQ_DROPS_ALL,
            ..WifiConfig::DEFAULT
        }
    }

    /// The parameters that the fields describe.
    pub(crate) fn params(&self) -> Result<WifiParams, Code> {
        let (mut params, mut fields) = (WifiParams::default(), *self);
        for name in WifiConfig::FIELDS {
            if let Some(&mut value) = fields.parameter(name)
                && value != GQ_DEFAULT
            {
                params.set(name, value)?;
            }
        }
        Ok(params)
    }

    /// The storage that they require.
    pub(crate) fn capacity(&self) -> Result<Capacity, Code> {
        let limit = self.params()?.limit;
        let packets = if self.packets == 0 { limit } else { self.packets };
        let interfaces = u16::try_from(self.interfaces).map_err(|_| GQ_EVALUE)?;
        let capacity = Capacity { stations: self.stations, interfaces, flows: self.flows, packets };
        capacity.check()?;
        Ok(capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::spec::Parameters;

    #[test]
    fn every_parameter_has_a_field_in_the_order_of_the_catalogue() {
        let mut config = WifiConfig::standard();
        let fields: Vec<&str> =
            WifiConfig::FIELDS.iter().copied().filter(|name| config.parameter(name).is_some()).collect();
        let knobs: Vec<&str> = WifiParams::LIST.iter().map(|parameter| parameter.name).collect();
        assert_eq!(fields, knobs);
    }

    #[test]
    fn storage_is_in_range() {
        let config = WifiConfig::standard();
        assert_eq!(config.capacity(), Ok(Capacity { packets: 8192, ..Capacity::default() }));
        let config = WifiConfig { limit: 600, ..config };
        assert_eq!(config.capacity().map(|capacity| capacity.packets), Ok(600));
        for config in [
            WifiConfig { limit: 0, ..config },
            WifiConfig { stations: 0, ..config },
            WifiConfig { interfaces: 65_537, ..config },
            WifiConfig { flows: 0, ..config },
            WifiConfig { packets: u32::MAX, ..config },
            WifiConfig { quantum: 0, ..config },
        ] {
            assert_eq!(config.capacity().map(|_| config.params().map(|_| ())), Err(GQ_EVALUE), "{config:?}");
        }
    }
}
