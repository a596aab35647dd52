//! The switches, and what each of them writes into an experiment file.

use toml::{Table, Value};

/// A model that is off on the pages of reproductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// `gro = "50us"` in `[tcp]`: receive offload.
    Gro,
    /// `tso` in `[tcp]`: on where the page has it off, off where the page has it on.
    Tso,
    /// `capture = true` in `[wifi]`, with a signal for stations that have none.
    Capture,
    /// `turns = "kept"` in `[wifi]` of variants whose driver loses turns.
    Turns,
    /// `protection = "retries"` in `[wifi]`.
    Retries,
    /// `protection = "cts"` in `[wifi]`.
    Cts,
    /// `snr_errors = "code"` in `[wifi]`.
    SnrErrors,
}

/// Why a switch of `[wifi]` is not for a page.
pub(super) const NO_WIFI: &str = "it has no Wi-Fi";

/// Signal of stations that have none, dB: no rate is lost at it.
const STRONG: i64 = 40;
/// The same of stations at the lowest rate, dB.
const WEAK: i64 = 20;

impl Switch {
    /// All, in the order of the page.
    pub const ALL: [Switch; 7] = [
        Switch::Gro,
        Switch::Tso,
        Switch::Capture,
        Switch::Turns,
        Switch::Retries,
        Switch::Cts,
        Switch::SnrErrors,
    ];

    /// What the command calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Switch::Gro => "gro",
            Switch::Tso => "tso",
            Switch::Capture => "capture",
            Switch::Turns => "turns",
            Switch::Retries => "retries",
            Switch::Cts => "cts",
            Switch::SnrErrors => "snr_errors",
        }
    }

    /// The switch of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Switch> {
        Switch::ALL.into_iter().find(|switch| switch.name() == name)
    }

    /// Turns it on in an experiment file.
    ///
    /// # Errors
    /// Why it has no effect there.
    pub(super) fn set(self, file: &mut Table) -> Result<(), &'static str> {
        match self {
            Switch::Gro | Switch::Tso if file.contains_key("switch") => {
                return Err("a switch takes no super-packets");
            }
            Switch::Gro => put(inner(file, "tcp"), "gro", "50us"),
            Switch::Tso if file.contains_key("wifi") => return Err("super-packets are cut before the air"),
            Switch::Tso => {
                let tcp = inner(file, "tcp");
                let is_on = tcp.get("tso").and_then(Value::as_bool).unwrap_or(false);
                put(tcp, "tso", !is_on);
            }
            _ if !file.contains_key("wifi") => return Err(NO_WIFI),
            Switch::Capture => {
                put(inner(file, "wifi"), "capture", true);
                give_signals(inner(file, "wifi"));
            }
            Switch::Turns => {
                if !keep_turns(file) {
                    return Err("no driver of it loses turns");
                }
            }
            Switch::Retries => put(inner(file, "wifi"), "protection", "retries"),
            Switch::Cts => put(inner(file, "wifi"), "protection", "cts"),
            Switch::SnrErrors if !["wifi", "variant"].iter().any(|&key| has(file.get(key), "snr")) => {
                return Err("no station of it has a signal");
            }
            Switch::SnrErrors => put(inner(file, "wifi"), "snr_errors", "code"),
        }
        Ok(())
    }
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.into(), value.into());
}

/// The table `key` of `table`; an empty one is added if there is none.
fn inner<'a>(table: &'a mut Table, key: &str) -> &'a mut Table {
    let value = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    value.as_table_mut().expect("a table, as in all our files")
}

/// The tables of a list.
fn list<'a>(table: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_table_mut)
}

/// Whether `value` or anything in it has `key`.
fn has(value: Option<&Value>, key: &str) -> bool {
    match value {
        Some(Value::Table(table)) => {
            table.contains_key(key) || table.values().any(|value| has(Some(value), key))
        }
        Some(Value::Array(list)) => list.iter().any(|value| has(Some(value), key)),
        _ => false,
    }
}

/// Sets `turns = "kept"` in all variants whose driver loses turns. Returns whether there is one.
fn keep_turns(file: &mut Table) -> bool {
    let driver = |wifi: Option<&Value>| Some(wifi?.get("driver")?.as_str()?.to_owned());
    let base = driver(file.get("wifi"));
    let loses = |driver: &Option<String>| {
        driver.as_deref().is_some_and(|driver| ["ath9k-4.4", "ath9k-4.10"].contains(&driver))
    };
    let mut is_set = false;
    for variant in list(file, "variant") {
        if loses(&driver(variant.get("wifi")).or_else(|| base.clone())) {
            put(inner(variant, "wifi"), "turns", "kept");
            is_set = true;
        }
    }
    is_set
}

/// Gives a signal to each station that has none: the strong one, or the weak one if its own table has the
/// lowest rate of its standard. Variants do not change.
fn give_signals(wifi: &mut Table) {
    if wifi.contains_key("snr") {
        return;
    }
    for station in list(wifi, "station").filter(|station| !station.contains_key("snr")) {
        let rate = station.get("rate").and_then(Value::as_str);
        let is_slowest = rate == Some("dsss1") || station.get("mcs").and_then(Value::as_integer) == Some(0);
        put(station, "snr", if is_slowest { WEAK } else { STRONG });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(switch: Switch, file: &str) -> Result<Table, &'static str> {
        let mut file: Table = toml::from_str(file).expect("TOML");
        switch.set(&mut file)?;
        Ok(file)
    }

    fn is(switch: Switch, file: &str, changed: &str) {
        assert_eq!(with(switch, file), Ok(toml::from_str(changed).expect("TOML")), "{}", switch.name());
    }

    #[test]
    fn a_key_comes_into_tables_and_inline_tables() {
        is(Switch::Gro, "tcp = { kernel = \"4.6\" }", "[tcp]\nkernel = \"4.6\"\ngro = \"50us\"");
        is(Switch::Gro, "", "tcp.gro = \"50us\"");
        is(Switch::Tso, "", "tcp.tso = true");
        is(Switch::Tso, "tcp.tso = true", "tcp.tso = false");
        is(
            Switch::Retries,
            "[[wifi.station]]\nmcs = 0",
            "[wifi]\nprotection = \"retries\"\nstation = [{ mcs = 0 }]",
        );
        is(Switch::Cts, "wifi.band = \"5GHz\"", "wifi = { band = \"5GHz\", protection = \"cts\" }");
    }

    #[test]
    fn what_has_no_effect_is_left_out() {
        for switch in [Switch::Gro, Switch::Tso] {
            assert!(with(switch, "[[switch]]\nnode = \"sw\"").is_err());
        }
        assert!(with(Switch::Tso, "wifi.band = \"5GHz\"").is_err());
        for switch in Switch::ALL.into_iter().filter(|switch| ![Switch::Gro, Switch::Tso].contains(switch)) {
            assert_eq!(with(switch, "link.rate = \"1gbit\""), Err(NO_WIFI));
        }
        assert!(with(Switch::SnrErrors, "[[wifi.station]]\nmcs = 0").is_err());
        assert!(with(Switch::SnrErrors, "[[wifi.station]]\nsnr = 40").is_ok());
        assert!(with(Switch::SnrErrors, "[wifi]\n[[variant]]\nwifi.stations.a.snr = 25").is_ok());
        assert!(with(Switch::Turns, "wifi.driver = \"ath9k-4.11\"\n[[variant]]").is_err());
    }

    /// A variant without a driver of its own has that of `[wifi]`.
    #[test]
    fn turns_are_kept_where_they_are_lost() {
        is(
            Switch::Turns,
            "wifi.driver = \"ath9k-4.10\"\n[[variant]]\n[[variant]]\nwifi = { driver = \"ath9k-4.11\" }\n\
             [[variant]]\n[variant.wifi]\ndriver = \"ath9k-4.4\"",
            "wifi.driver = \"ath9k-4.10\"\n[[variant]]\nwifi.turns = \"kept\"\n\
             [[variant]]\nwifi.driver = \"ath9k-4.11\"\n\
             [[variant]]\nwifi = { driver = \"ath9k-4.4\", turns = \"kept\" }",
        );
    }

    #[test]
    fn stations_without_a_signal_get_one() {
        is(
            Switch::Capture,
            "[[wifi.station]]\nmcs = 15\n[[wifi.station]]\nmcs = 0\n[[wifi.station]]\nrate = \"dsss1\"\n\
             [[wifi.station]]\nmcs = 0\nsnr = 30.5",
            "wifi.capture = true\n[[wifi.station]]\nmcs = 15\nsnr = 40\n[[wifi.station]]\nmcs = 0\nsnr = 20\n\
             [[wifi.station]]\nrate = \"dsss1\"\nsnr = 20\n[[wifi.station]]\nmcs = 0\nsnr = 30.5",
        );
        is(
            Switch::Capture,
            "[wifi]\nsnr = 25\nstation = [{}]",
            "wifi = { snr = 25, station = [{}], capture = true }",
        );
    }
}
