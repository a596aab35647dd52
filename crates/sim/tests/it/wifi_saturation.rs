//! Saturated stations against published throughput and against Bianchi's model. This test makes the tables of
//! `docs/wifi-calibration.md` (`GOODQUEUE_BLESS=1` writes them).

use std::fmt::Write as _;

use goodqueue::{Nanos, Reason, Span};
use goodqueue_sim::wifi::{
    Aggregation, Band, DeviceId, DeviceSpec, DriverSpec, EdcaParams, Frame, PeerSpec, PhyRate, Radio,
    RadioSpec, RateSpec, Sink,
};

/// Counts the packets that arrive.
#[derive(Default)]
struct Arrivals(u64);

impl Sink for Arrivals {
    fn delivered(&mut self, _: Nanos, _: DeviceId, _: Frame) {
        self.0 += 1;
    }
    fn dropped(&mut self, _: Nanos, _: DeviceId, _: Frame, _: Reason) {}
}

/// Bytes of an IP packet.
const PACKET: u32 = 1_500;
/// Time that counts, after a second that does not.
const SECONDS: u64 = 60;

/// Stations that always have packets for the access point.
#[derive(Clone, Copy)]
struct Case {
    rate: &'static str,
    stations: u16,
    aifsn: u8,
    /// MPDUs in a PPDU.
    mpdus: u16,
    /// Bytes of an MPDU more than those of the IP packet.
    header: u32,
    has_rts: bool,
}

impl Case {
    fn rate(&self) -> PhyRate {
        self.rate.parse().expect("a rate")
    }

    /// Our throughput of IP packets, Mbit/s. With our headers an MPDU is 38 bytes longer than its packet;
    /// packets are shortened by the difference to the source's headers.
    fn ours(&self) -> f64 {
        let driver = DriverSpec {
            max_frames: self.mpdus,
            ..DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue"))
        };
        let peer = PeerSpec { aggregation: Aggregation::VHT, ..PeerSpec::new(RateSpec::Fixed(self.rate())) };
        let mut devices = vec![DeviceSpec::access_point(driver.clone())];
        devices.extend((0..self.stations).map(|_| DeviceSpec::station(0, peer.clone(), driver.clone())));
        for device in &mut devices {
            device.edca = [EdcaParams { aifsn: self.aifsn, cw_min: 15, cw_max: 1_023, txop: Span::ZERO }; 4];
            device.rts_threshold = self.has_rts.then_some(0);
        }
        let spec = RadioSpec { devices, band: Band::Ghz5, ..RadioSpec::default() };
        let mut radio = Radio::new(&spec, 1, 0).expect("a radio");
        let mut arrivals = Arrivals::default();
        let mut before = 0;
        let len = PACKET + 14 + self.header - 38;
        for step in 0..=100 * (SECONDS + 1) {
            let now = Nanos(step * 10_000_000);
            radio.advance(now, &mut arrivals);
            if step == 100 {
                before = arrivals.0;
            }
            for station in 1..=self.stations {
                // More than the air can carry in 10 ms.
                for _ in radio.held_of(station)..200 {
                    radio.offer(now, station, Frame { len, flow_hash: 1, ..Frame::default() }, &mut arrivals);
                }
            }
        }
        (arrivals.0 - before) as f64 * f64::from(PACKET) * 8.0 / SECONDS as f64 / 1e6
    }

    /// Bianchi's throughput with the times of the simulator, Mbit/s.
    fn model(&self) -> f64 {
        let rate = self.rate();
        let control = rate.control();
        let us = |span: Span| span.0 as f64 / 1e3;
        let (sifs, slot) = (16.0, 9.0);
        let aifs = sifs + slot * f64::from(self.aifsn);
        let mpdu = u64::from(PACKET + self.header);
        let subframe = (mpdu + 4).next_multiple_of(4);
        let is_ampdu = self.mpdus > 1 || rate.to_string().starts_with("he");
        let bytes = if is_ampdu { subframe * u64::from(self.mpdus) } else { mpdu };
        let data = us(rate.ppdu(bytes));
        let answer = sifs + us(control.ppdu(if self.mpdus > 1 { 32 } else { 14 }));
        let lowest = PhyRate::ofdm(6).expect("a rate");
        let eifs = sifs + us(lowest.ppdu(14)) + aifs;
        let (before, collides) = match self.has_rts {
            true => (us(control.ppdu(20)) + us(control.ppdu(14)) + 2.0 * sifs, us(control.ppdu(20))),
            false => (0.0, data),
        };
        let success = before + data + answer + aifs;
        let payload = f64::from(PACKET) * 8.0 * f64::from(self.mpdus);
        bianchi(f64::from(self.stations), (slot, success, collides + eifs)) * payload
    }
}

/// Successful transmissions per us of `n` saturated stations: G. Bianchi, "Performance Analysis of the IEEE
/// 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000, equations 7, 9, 10, 11 and 13, with W =
/// 16 and m = 6. The times of a slot, a success and a collision are in us.
fn bianchi(n: f64, (slot, success, collision): (f64, f64, f64)) -> f64 {
    let tau = |p: f64| 2.0 / (17.0 + 16.0 * p * (0..6).map(|k| (2.0 * p).powi(k)).sum::<f64>());
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powf(n - 1.0) > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let some = 1.0 - (1.0 - tau).powf(n);
    let one = n * tau * (1.0 - tau).powf(n - 1.0);
    one / ((1.0 - some) * slot + one * success + (some - one) * collision)
}

/// The published rows: rate, stations, Mbit/s.
const OFDM: [(&str, [(u16, f64); 4]); 3] = [
    ("ofdm6", [(5, 4.6899), (10, 4.3197), (20, 3.9589), (50, 3.4711)]),
    ("ofdm24", [(5, 16.0836), (10, 14.9153), (20, 13.7300), (50, 12.0889)]),
    ("ofdm54", [(5, 29.2861), (10, 27.3763), (20, 25.3325), (50, 22.4162)]),
];
const HE: [(&str, [(u16, f64); 4]); 4] = [
    ("he20-1ss-mcs0-gi0.8", [(5, 6.3381), (10, 5.8172), (20, 5.3146), (50, 4.6317)]),
    ("he20-1ss-mcs4-gi0.8", [(5, 25.8947), (10, 24.0721), (20, 22.1738), (50, 19.4784)]),
    ("he20-1ss-mcs7-gi0.8", [(5, 34.1710), (10, 31.9398), (20, 29.5261), (50, 26.0271)]),
    ("he20-1ss-mcs11-gi0.8", [(5, 41.8065), (10, 39.2749), (20, 36.4282), (50, 32.2164)]),
];
const VHT: [(&str, [(u16, f64); 2]); 1] = [("vht20-1ss-mcs7-lgi", [(1, 38.6), (5, 32.1)])];

/// One row: what was published, the model, and ours.
fn row(page: &mut String, published: Option<f64>, case: &Case) {
    let (ours, model) = (case.ours(), case.model());
    let off = |from: f64| 100.0 * (ours / from - 1.0);
    let Case { rate, stations, .. } = case;
    let (figure, difference) = published
        .map_or(("-".into(), "-".into()), |value| (format!("{value:.2}"), format!("{:+.1} %", off(value))));
    let line = format!(
        "| {rate} | {stations} | {figure} | {model:.2} | {ours:.2} | {difference} | {:+.1} % |",
        off(model)
    );
    writeln!(page, "{line}").expect("text");
    // Bianchi's stations count a slot when they see the air taken, and ours do not.
    assert!(off(model).abs() < 5.0, "{line}");
    // The times of the source's aggregates are not known.
    let is_known = case.mpdus == 1;
    assert!(!is_known || published.is_none_or(|value| off(value).abs() < 5.0), "{line}");
}

fn table(page: &mut String, title: &str, rows: &[(Option<f64>, Case)]) {
    let head = "| rate | stations | published | model | ours | ours to published | ours to model |\n\
                | --- | --: | --: | --: | --: | --: | --: |";
    writeln!(page, "\n### {title}\n\n{head}").expect("text");
    rows.iter().for_each(|(published, case)| row(page, *published, case));
}

#[test]
fn saturated_stations_have_the_published_throughput() {
    let mut made = String::new();
    let plain = Case { rate: "", stations: 0, aifsn: 2, mpdus: 1, header: 34, has_rts: false };
    let all = |rows: &[(&'static str, [(u16, f64); 4])], plain: Case| -> Vec<(Option<f64>, Case)> {
        let each = rows.iter().flat_map(|&(rate, points)| points.map(|point| (rate, point)));
        each.map(|(rate, (stations, value))| (Some(value), Case { rate, stations, ..plain })).collect()
    };
    table(&mut made, "802.11a", &all(&OFDM, plain));
    table(&mut made, "802.11ax, 20 MHz, without aggregation", &all(&HE, Case { header: 38, ..plain }));
    let pairs = Case { aifsn: 3, mpdus: 2, header: 38, ..plain };
    let rows = VHT.iter().flat_map(|&(rate, points)| points.map(|point| (rate, point)));
    let rows: Vec<_> =
        rows.map(|(rate, (stations, value))| (Some(value), Case { rate, stations, ..pairs })).collect();
    table(&mut made, "802.11ac, 20 MHz, two MPDUs in a PPDU", &rows);
    let with_rts =
        [5, 10, 20, 50].map(|stations| (None, Case { rate: "ofdm54", stations, has_rts: true, ..plain }));
    table(&mut made, "802.11a, with RTS and CTS", &with_rts);
    keeps("wifi-calibration.md", &made);
}

/// The text after the mark of a page of docs must be `made`; with `GOODQUEUE_BLESS` it is written.
pub(crate) fn keeps(name: &str, made: &str) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let old = std::fs::read_to_string(&path).expect("the page");
    let mark = "<!-- made by a test -->\n";
    let (text, _) = old.split_once(mark).expect("the mark");
    let new = format!("{text}{mark}{made}");
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        return std::fs::write(path, new).expect("writes");
    }
    assert!(old == new, "{name} is not current: run this test with GOODQUEUE_BLESS=1");
}
