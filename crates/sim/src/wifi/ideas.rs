//! Open ideas for a driver, each off by default: what "Airtime fairness in the Linux WiFi stack"
//! (Høiland-Jørgensen, 2017) lists as next steps. None is in Linux 6.1. The rule for QoS against airtime is
//! [`goodqueue::wifi::WifiParams::joint_airtime`].

use goodqueue::wifi::AdmissionParams;
use goodqueue::{Dql, Nanos, Span};

use super::spec::{DriverSpec, Lower, Upper};

/// What a driver does beyond Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ideas {
    /// Byte queue limits on what the firmware holds. Only with firmware that aggregates. "Minimise hardware
    /// buffering: BQL-like mechanism if aggregation is in firmware"; Kazior's experiments of 2016 had both
    /// scopes.
    pub dql: Option<DqlScope>,
    /// The driver learns when a PPDU goes on the air, and builds the next one this long before the end of
    /// its data, or at its start if the PPDU is shorter. Until then the hardware queue has one PPDU, not two.
    /// 0 to 100 ms. "Precise aggregate scheduling; interrupt at TX start".
    pub fill_ahead: Option<Span>,
    /// A failed frame is not sent again if it is older than this, its time in mac80211's queues included
    /// (below a queue discipline: its age since the driver took it). 1 ms to 10 s. "Time-based maximum
    /// retransmission counter".
    pub lifetime: Option<Span>,
    /// The longest aggregate: this time divided by the number of stations that wait for their turn in the
    /// category. 1 ms to 1 s. A PPDU has at least one frame, however long it takes. "Dynamic aggregate
    /// sizing".
    pub latency_budget: Option<Span>,
    /// Flows that build a queue in VO or VI go to BE. With [`Upper::Mac80211`]. "Soft QoS admission control".
    pub admission: Option<AdmissionParams>,
    /// Packets of BE fill up an aggregate of VO or VI to the same station, in its TID, unless earlier packets
    /// of BE to it are under way. Only with [`Lower::Txq`]. "Combine QoS levels in one aggregate".
    pub combine: bool,
}

/// The scope of a byte queue limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DqlScope {
    /// All packets of an access category in the firmware: a hardware queue.
    Hardware,
    /// The packets of one station in an access category. Only with [`Upper::Mac80211`].
    Station,
}

/// Ticks per second of the limits' clock.
const HZ: u32 = 250;

/// A limit that starts at its minimum.
pub(super) fn new_dql() -> Dql {
    Dql::new(HZ, Nanos::ZERO)
}

fn check_range(name: &str, value: Option<Span>, most_ms: u64, is_zero_fine: bool) -> Result<(), String> {
    let Some(value) = value else { return Ok(()) };
    let least = if is_zero_fine { Span::ZERO } else { Span::from_millis(1) };
    if value < least || value > Span::from_millis(most_ms) {
        return Err(format!("{name} of {} ns: must be {} to {most_ms} ms", value.0, least.0 / 1_000_000));
    }
    Ok(())
}

impl Ideas {
    /// A driver as it is in Linux.
    pub const NONE: Ideas = Ideas {
        dql: None,
        fill_ahead: None,
        lifetime: None,
        latency_budget: None,
        admission: None,
        combine: false,
    };

    /// What is wrong with the ideas of a driver.
    pub(super) fn check(driver: &DriverSpec) -> Result<(), String> {
        let ideas = &driver.ideas;
        check_range("fill_ahead", ideas.fill_ahead, 100, true)?;
        check_range("lifetime", ideas.lifetime, 10_000, false)?;
        check_range("latency_budget", ideas.latency_budget, 1000, false)?;
        let has_stack = matches!(driver.upper, Upper::Mac80211(_));
        if let Some(admission) = ideas.admission {
            admission.check().map_err(|error| error.to_string())?;
        }
        let is_firmware = driver.lower.is_firmware();
        for (is_refused, why) in [
            (ideas.dql.is_some() && !is_firmware, "dql is for firmware that aggregates"),
            (ideas.dql == Some(DqlScope::Station) && !has_stack, "dql by station needs mac80211's queues"),
            (ideas.admission.is_some() && !has_stack, "admission needs mac80211's queues"),
            (
                ideas.combine && driver.lower != Lower::Txq,
                "combine is for a driver that aggregates from mac80211's queues",
            ),
        ] {
            if is_refused {
                return Err(why.into());
            }
        }
        Ok(())
    }
}
