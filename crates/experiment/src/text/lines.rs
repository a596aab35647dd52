//! Ready-made access lines: rates, round trip and buffers of common lines, with their sources. The catalogue
//! is the only source of `goodqueue lines`, `--line` and `docs/lines.md`.

use goodqueue::{Rate, Span};

/// An access line with the buffers at its two ends.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// Its name for `--line`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Rate towards the client, Ethernet frames.
    pub down: Rate,
    /// Rate towards the server.
    pub up: Rate,
    /// Base round-trip time to a nearby server.
    pub rtt: Span,
    /// Added to each packet's delay, each way, uniform from zero to this.
    pub jitter: Span,
    /// The queue at the provider's end, towards the client.
    pub buffer_down: &'static str,
    /// The queue in the modem.
    pub buffer_up: &'static str,
    /// The keywords that tell `cake` this line's framing on a real router. The simulated line carries
    /// Ethernet frames, so runs do not use it.
    pub framing: &'static str,
    /// The sources of its figures, and which figures are just typical values.
    pub source: &'static str,
}

const fn mbit(number: u64) -> Rate {
    Rate(number * 1_000_000)
}

/// All lines, by technology and rate.
pub static LINES: [Line; 12] = [
    Line {
        name: "dsl-16-1",
        about: "ADSL2+, modem with 128 KiB",
        down: mbit(16),
        up: mbit(1),
        rtt: Span::from_millis(40),
        jitter: Span::ZERO,
        buffer_down: "pfifo:256",
        buffer_up: "bfifo:131072",
        framing: "pppoe-llcsnap",
        source: "Typical values throughout, the round trip with interleaving. C. Kreibich et al., \"Netalyzr: Illuminating \
                 the edge network\" (IMC 2010), measured buffers of modems; its sizes were not checked here.",
    },
    Line {
        name: "dsl-50-10",
        about: "VDSL2, modem with Linux's 1000 packets",
        down: mbit(50),
        up: mbit(10),
        rtt: Span::from_millis(30),
        jitter: Span::ZERO,
        buffer_down: "pfifo:1000",
        buffer_up: "pfifo:1000",
        framing: "pppoe-ptm",
        source: "Rates: a common product. Round trip: typical. Buffers: `txqueuelen` 1000, Linux's default for a device.",
    },
    Line {
        name: "dsl-100-40",
        about: "VDSL2 with vectoring",
        down: mbit(100),
        up: mbit(40),
        rtt: Span::from_millis(20),
        jitter: Span::ZERO,
        buffer_down: "pfifo:1000",
        buffer_up: "pfifo:1000",
        framing: "pppoe-ptm",
        source: "Rates: a common product. Round trip: typical. Buffers: `txqueuelen` 1000, Linux's default for a device.",
    },
    Line {
        name: "cable-20-5",
        about: "DOCSIS modem with the FIFOs of a published measurement",
        down: mbit(20),
        up: mbit(5),
        rtt: Span::from_millis(16),
        jitter: Span::from_millis(1),
        buffer_down: "bfifo:1645000",
        buffer_up: "bfifo:165000",
        framing: "docsis",
        source: CABLE,
    },
    Line {
        name: "cable-100-10",
        about: "DOCSIS 3.0, 250 ms in the modem",
        down: mbit(100),
        up: mbit(10),
        rtt: Span::from_millis(20),
        jitter: Span::from_millis(1),
        buffer_down: "fifo:100ms",
        buffer_up: "fifo:250ms",
        framing: "docsis",
        source: "Rates, round trip and buffer down: typical. Buffer up: the mean delay under load of modems without an AQM, \
                 roughly 250 ms, in the abstract of A. Flickinger et al., \"Improving latency with active queue management \
                 (AQM) during COVID-19\" (arXiv 2107.13968, 2021).",
    },
    Line {
        name: "cable-500-25",
        about: "DOCSIS 3.1, PIE in the modem",
        down: mbit(500),
        up: mbit(25),
        rtt: Span::from_millis(20),
        jitter: Span::from_millis(1),
        buffer_down: "fifo:100ms",
        buffer_up: "pie",
        framing: "docsis",
        source: "Rates, round trip and buffer down: typical. PIE in the modem: RFC 8034, here with Linux's parameters.",
    },
    Line {
        name: "gpon-100-100",
        about: "GPON, an ONT that holds 60 ms up",
        down: mbit(100),
        up: mbit(100),
        rtt: Span::from_millis(10),
        jitter: Span::ZERO,
        buffer_down: "fifo:60ms",
        buffer_up: "bfifo:750000",
        framing: "ethernet",
        source: GPON,
    },
    Line {
        name: "gpon-1000-500",
        about: "GPON",
        down: mbit(1000),
        up: mbit(500),
        rtt: Span::from_millis(5),
        jitter: Span::ZERO,
        buffer_down: "fifo:20ms",
        buffer_up: "fifo:20ms",
        framing: "ethernet",
        source: "Typical values throughout.",
    },
    Line {
        name: "lte-13-6",
        about: "LTE at its measured median rates",
        down: mbit(13),
        up: mbit(6),
        rtt: Span::from_millis(70),
        jitter: Span::from_millis(10),
        buffer_down: "fifo:1s",
        buffer_up: "fifo:1s",
        framing: "ethernet",
        source: "Rates: the medians of J. Huang et al., \"A close examination of performance and power characteristics of 4G LTE \
                 networks\" (MobiSys 2012), 13 and 6 Mbit/s in its abstract; its round trips were not checked here. H. Jiang et \
                 al., \"Tackling bufferbloat in 3G/4G networks\" (IMC 2012), report extremely long delays in such networks; 1 s is \
                 chosen. Round trip and jitter: typical.",
    },
    Line {
        name: "lte-8-0.8",
        about: "an LTE modem far from the mast, 20 kB up",
        down: mbit(8),
        up: Rate(800_000),
        rtt: Span::from_millis(50),
        jitter: Span::from_millis(10),
        buffer_down: "fifo:1s",
        buffer_up: "bfifo:20000",
        framing: "ethernet",
        source: LTE,
    },
    Line {
        name: "starlink-150-15",
        about: "Starlink",
        down: mbit(150),
        up: mbit(15),
        rtt: Span::from_millis(40),
        jitter: Span::from_millis(10),
        buffer_down: "fifo:100ms",
        buffer_up: "fifo:200ms",
        framing: "ethernet",
        source: STARLINK,
    },
    Line {
        name: "starlink-50-8",
        about: "Starlink in the evening",
        down: mbit(50),
        up: mbit(8),
        rtt: Span::from_millis(40),
        jitter: Span::from_millis(10),
        buffer_down: "fifo:200ms",
        buffer_up: "fifo:300ms",
        framing: "ethernet",
        source: STARLINK,
    },
];

const STARLINK: &str = "Round trip with jitter: the quartiles (40 to 60 ms, median 50 ms) of F. Michel et al., \"A first look at Starlink \
                        performance\" (IMC 2022), as their account for APNIC's blog (28 November 2022) gives them. Rates and buffers: typical. That the rate changes every 15 s is not modelled: \
                        use a trace.";
const CABLE: &str = "D. Täht, \"Cutting queuing delay\" (2018): FIFOs of 264 ms up and 658 ms down, as in scenarios/cable-sqm.toml. \
                         Rates, round trip and jitter: chosen for them.";
const GPON: &str = "D. Täht, \"Cutting queuing delay\" (2018): a FIFO of 60 ms in the ONT at 100 Mbit/s. Buffer down and round trip: \
                         typical.";
const LTE: &str = "D. Täht, \"Cutting queuing delay\" (2018): 200 ms at 800 kbit/s up, which are 20 kB (scenarios/lte.toml). The rest: \
                         typical.";

/// The line called `name`.
///
/// # Errors
/// The existing lines, and the nearest one.
pub(crate) fn find(name: &str) -> Result<&'static Line, String> {
    let found = LINES.iter().find(|line| line.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = LINES.iter().map(|line| line.name).collect();
        let nearest = crate::hint::did_you_mean(name, &names);
        format!("no line is called `{}`; `goodqueue lines` lists them{nearest}", name.escape_debug())
    })
}
