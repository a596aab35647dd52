//! Whole transfers: conservation, start, limits.

use super::pipe::{Pipe, drop_first_of, plain};
use crate::tcp::Config;
use crate::tcp::cc::CcKind;
use goodqueue::{Rate, Span};

const MSS: u64 = 1448;

fn bulk(config: &Config, segments: u64) -> Pipe {
    let mut pipe = Pipe::new(config, CcKind::Reno, Rate(100_000_000), Span::from_millis(50));
    pipe.tx.write(segments * MSS);
    pipe
}

#[test]
fn everything_written_arrives() {
    let cut = Config { tso: false, ..Config::default() };
    for config in [plain(), cut, Config::default()] {
        for kind in [CcKind::Reno, CcKind::Cubic, CcKind::Bbr] {
            let mut pipe = Pipe::new(&config, kind, Rate(100_000_000), Span::from_millis(50));
            pipe.tx.write(5_000 * MSS + 17);
            pipe.tx.close();
            assert!(pipe.run_until_done(Span::from_secs(60)), "{kind:?} {:?}", pipe.tx);
            assert_eq!(pipe.rx.received(), 5_000 * MSS + 17);
            assert!(pipe.rx.is_finished());
            assert_eq!(pipe.tx.stats().retransmits, 0, "{kind:?}");
        }
    }
}

/// RFC 6928: ten segments, then twice as many each round trip. The first 16 are acknowledged one by one, the
/// other 14 of the first 30 two by two, so none waits for a delayed ACK.
#[test]
fn the_initial_window_is_ten_and_doubles() {
    let mut pipe = bulk(&plain(), 1000);
    pipe.rate = Rate(10_000_000_000);
    // SYN at 1 ms, data at 51, 101 and 151 ms.
    for (millis, sent) in [(75, 10), (125, 30), (175, 70)] {
        pipe.run(Span::from_millis(millis));
        assert_eq!(pipe.payload().count(), sent, "after {millis} ms");
    }
}

/// RFC 6675: one loss, one retransmission, no timeout.
#[test]
fn one_loss_is_one_retransmission() {
    for config in [plain(), Config::default()] {
        let mut pipe = bulk(&config, 2000);
        pipe.forth = drop_first_of(&[100]);
        assert!(pipe.run_until_done(Span::from_secs(10)));
        assert_eq!(pipe.rx.received(), 2000 * MSS);
        let stats = pipe.tx.stats();
        assert_eq!((stats.rtos, stats.recoveries), (0, 1), "{stats:?}");
        if !config.tso {
            assert_eq!(stats.retransmits, 1);
        }
    }
}
