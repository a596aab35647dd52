//! Congestion controls by name, and their information about a sender.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};

use crate::QuicCc;

fn build(cc: QuicCc, now: Instant, mtu: u16) -> Box<dyn Controller> {
    match cc {
        QuicCc::Cubic => Arc::new(CubicConfig::default()).build(now, mtu),
        QuicCc::NewReno => Arc::new(NewRenoConfig::default()).build(now, mtu),
        QuicCc::Bbr => Arc::new(BbrConfig::default()).build(now, mtu),
    }
}

/// The congestion control of one connection. A server learns which one a flow wants only from its opening,
/// when the connection is up: [`Chosen::choose`] then replaces the first one.
#[derive(Clone)]
pub(super) struct Chosen(Arc<Mutex<Inside>>);

struct Inside {
    cc: QuicCc,
    controller: Option<Box<dyn Controller>>,
    /// Bytes sent and not acknowledged, at the last acknowledgement.
    in_flight: u64,
    /// When the last acknowledgement came.
    last: Option<Instant>,
    /// The time in which something other than the network limited the sender. It always has data, so that is
    /// the receiver's window.
    limited: Duration,
}

/// A congestion control's information about its connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Metrics {
    pub(super) window: u64,
    /// `None` before the first loss.
    pub(super) ssthresh: Option<u64>,
    /// Bytes per second, if the congestion control has a pacing rate.
    pub(super) pacing_rate: Option<u64>,
    pub(super) in_flight: u64,
    pub(super) limited: Duration,
}

impl Chosen {
    pub(super) fn new(cc: QuicCc) -> Chosen {
        let (controller, last) = (None, None);
        Chosen(Arc::new(Mutex::new(Inside { cc, controller, in_flight: 0, last, limited: Duration::ZERO })))
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts again with `cc`. Limited time counts from here.
    pub(super) fn choose(&self, cc: QuicCc, now: Instant, mtu: u16) {
        let mut inside = self.inside();
        (inside.cc, inside.controller) = (cc, Some(build(cc, now, mtu)));
        (inside.last, inside.limited) = (Some(now), Duration::ZERO);
    }

    pub(super) fn cc(&self) -> QuicCc {
        self.inside().cc
    }

    pub(super) fn metrics(&self) -> Metrics {
        let inside = self.inside();
        let known = inside.controller.as_ref().map(|controller| controller.metrics()).unwrap_or_default();
        Metrics {
            window: known.congestion_window,
            ssthresh: known.ssthresh.filter(|&bytes| bytes < u64::MAX),
            pacing_rate: known.pacing_rate.map(|bits| bits / 8),
            in_flight: inside.in_flight,
            limited: inside.limited,
        }
    }
}

impl ControllerFactory for Chosen {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        self.choose(self.cc(), now, current_mtu);
        Box::new(Chosen::clone(&self))
    }
}

impl Controller for Chosen {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        if let Some(controller) = &mut self.inside().controller {
            controller.on_sent(now, bytes, last_packet_number);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        if let Some(controller) = &mut self.inside().controller {
            controller.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut inside = self.inside();
        inside.in_flight = in_flight;
        if let Some(last) = inside.last.replace(now)
            && app_limited
        {
            inside.limited += now.saturating_duration_since(last);
        }
        if let Some(controller) = &mut inside.controller {
            controller.on_end_acks(now, in_flight, app_limited, largest);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        if let Some(controller) = &mut self.inside().controller {
            controller.on_congestion_event(now, sent, is_persistent, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Some(controller) = &mut self.inside().controller {
            controller.on_mtu_update(new_mtu);
        }
    }

    fn window(&self) -> u64 {
        self.inside().controller.as_ref().map_or(0, |controller| controller.window())
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inside().controller.as_ref().map(|controller| controller.metrics()).unwrap_or_default()
    }

    /// For another path of the same connection. Our connections stay on one path.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.inside().controller.as_ref().map_or(0, |controller| controller.initial_window())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_is_chosen_late() {
        let now = Instant::now();
        let chosen = Chosen::new(QuicCc::Cubic);
        let mut controller = Arc::new(chosen.clone()).build(now, 1200);
        assert_eq!((chosen.cc(), controller.window()), (QuicCc::Cubic, controller.initial_window()));
        chosen.choose(QuicCc::NewReno, now, 1200);
        assert_eq!(chosen.cc().name(), "newreno");
        let sent = now + Duration::from_millis(1);
        controller.on_congestion_event(sent, sent, false, 1200);
        assert!(chosen.metrics().ssthresh.is_some() && chosen.metrics().window < controller.initial_window());
        for (ms, app_limited) in [(10, false), (30, true), (60, false)] {
            controller.on_end_acks(now + Duration::from_millis(ms), 7, app_limited, None);
        }
        assert_eq!((chosen.metrics().limited, chosen.metrics().in_flight), (Duration::from_millis(20), 7));
    }
}
