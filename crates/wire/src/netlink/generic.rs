//! Families of generic netlink, which get their numbers from the kernel (`genetlink(7)`).

use std::fmt::Debug;

use netlink_packet_core::{Emitable, ParseableParametrized};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;

use super::{Connection, Kind};
use crate::{Error, Result};

/// Number of the family that names all others (`GENL_ID_CTRL`, `linux/genetlink.h`).
const CONTROL: Kind = (16, "CTRL_CMD_GETFAMILY");

/// A connection to one family, in the network namespace of the thread that opened it.
pub struct Generic {
    connection: Connection,
    family: u16,
}

impl Generic {
    /// Opens a connection to the family of `F`.
    ///
    /// # Errors
    /// `Missing` if this kernel has no such family, with the `cure`; `System` if a call fails.
    pub fn open<F: GenlFamily>(cure: &str) -> Result<Generic> {
        let mut connection = Connection::open(NETLINK_GENERIC, "NETLINK_GENERIC")?;
        let all = GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: Vec::new() };
        let parse = |bytes: &[u8]| {
            let family = GenlMessage::<GenlCtrl>::parse_with_param(bytes, CONTROL.0).ok()?.payload;
            let (mut is_meant, mut number) = (false, None);
            for nla in &family.nlas {
                match nla {
                    GenlCtrlAttrs::FamilyName(name) => is_meant = name == F::family_name(),
                    GenlCtrlAttrs::FamilyId(id) => number = Some(*id),
                    _ => {}
                }
            }
            number.filter(|_| is_meant)
        };
        let found = connection.dump(CONTROL, &GenlMessage::from_payload(all), F::family_name(), parse)?;
        let family = found.first().copied().ok_or_else(|| Error::Missing {
            right: format!("{} (a family of generic netlink)", F::family_name()),
            cure: cure.to_owned(),
        })?;
        Ok(Generic { connection, family })
    }

    /// Sends a request and waits for its acknowledgement. `name` and `object` are for the error.
    ///
    /// # Errors
    /// `System` with the kernel's error number, or `Refused` with its explanation too.
    pub fn request<F>(&mut self, message: F, name: &'static str, object: &str) -> Result<()>
    where
        F: GenlFamily + Emitable + Debug,
    {
        self.connection.request((self.family, name), &GenlMessage::from_payload(message), 0, object)
    }

    /// Asks for everything that `message` names, and collects the answers. `name` and `object` are for the
    /// error.
    ///
    /// # Errors
    /// `System` with the kernel's error number.
    pub fn dump<F>(&mut self, message: F, name: &'static str, object: &str) -> Result<Vec<F>>
    where
        F: GenlFamily + Emitable + Debug + ParseableParametrized<[u8], GenlHeader>,
    {
        let family = self.family;
        let parse = |bytes: &[u8]| {
            GenlMessage::<F>::parse_with_param(bytes, family).ok().map(|message| message.payload)
        };
        self.connection.dump((family, name), &GenlMessage::from_payload(message), object, parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Control;

    impl GenlFamily for Control {
        fn family_name() -> &'static str {
            "nlctrl"
        }
        fn command(&self) -> u8 {
            3
        }
        fn version(&self) -> u8 {
            2
        }
    }

    #[derive(Debug)]
    struct Nobody;

    impl GenlFamily for Nobody {
        fn family_name() -> &'static str {
            "goodqueue-none"
        }
        fn command(&self) -> u8 {
            1
        }
        fn version(&self) -> u8 {
            1
        }
    }

    #[test]
    fn a_family_is_found_by_its_name_and_a_missing_one_is_named() {
        assert_eq!(Generic::open::<Control>("").expect("every kernel has it").family, CONTROL.0);
        let error = Generic::open::<Nobody>("load it").map(|_| ()).expect_err("no kernel has it");
        assert!(error.is_missing(), "{error}");
        assert!(error.to_string().contains("goodqueue-none") && error.to_string().contains("load it"));
    }
}
