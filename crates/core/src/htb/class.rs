//! A class: its two token buckets, and its mode.

use super::error::ParamsError;
use super::feed::{Feed, PRIOS};
use crate::queue::Sent;
use crate::tbf::{LinkLayer, RateTable};
use crate::{Nanos, Rate};

/// Maximum number of classes of a tree, leaves and inner ones.
pub const MAX_CLASSES: usize = 64;
/// Levels of a tree (Linux `TC_HTB_MAXDEPTH`).
pub const LEVELS: usize = 8;
/// Longest time that is credited at once, and deepest debt, ns (Linux `mbuffer`): a minute.
pub(super) const MBUFFER: i64 = 60_000_000_000;
/// The parent of a root.
pub(super) const ROOT: u8 = u8::MAX;

/// A length that no packet has.
const UNKNOWN: u64 = u64::MAX;

/// Parameters of a class, with the names of tc-htb(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassParams {
    /// The index of the class that it borrows from, which is less than its own; `None`: it does not borrow.
    pub parent: Option<usize>,
    /// The guaranteed rate of it and its children; stored in whole bytes per second.
    pub rate: Rate,
    /// The maximum rate with borrowing, at least `rate`.
    pub ceil: Rate,
    /// Bytes that it may send at `ceil` at once on its own tokens, above 0.
    pub burst: u32,
    /// Bytes that it may send at once faster than `ceil`, above 0.
    pub cburst: u32,
    /// Classes with the lowest number send and borrow first, 0 to 7. Used for leaves.
    pub prio: u8,
    /// Bytes that it may send in one turn; `None`: its rate in bytes per second divided by 10 (`r2q`), 1000
    /// to 200 000.
    pub quantum: Option<u32>,
    /// Minimum length of a packet for accounting, bytes.
    pub mpu: u16,
    /// Bytes added to the length of every packet.
    pub overhead: u16,
    /// Framing of the link.
    pub linklayer: LinkLayer,
}

impl ClassParams {
    /// A root whose ceil is its rate, with bursts of 1600 bytes (tc's default below 1 Gbit/s).
    #[must_use]
    pub const fn new(rate: Rate) -> ClassParams {
        ClassParams {
            parent: None,
            rate,
            ceil: rate,
            burst: 1600,
            cburst: 1600,
            prio: 0,
            quantum: None,
            mpu: 0,
            overhead: 0,
            linklayer: LinkLayer::Ethernet,
        }
    }

    /// The effective quantum (tc-htb(8), `r2q` and `quantum`).
    #[must_use]
    pub fn quantum(&self) -> u32 {
        let by_rate = u32::try_from(self.rate.0 / 8 / 10).unwrap_or(u32::MAX).clamp(1000, 200_000);
        self.quantum.map_or(by_rate, |quantum| quantum.max(1))
    }

    /// Checks the parameters of the class at `place`.
    pub(super) fn check(&self, place: usize) -> Result<(), ParamsError> {
        let ClassParams { rate, ceil, burst, cburst, prio, parent, .. } = *self;
        if rate.0 < 8 {
            return Err(ParamsError::Rate);
        }
        if ceil < rate {
            return Err(ParamsError::Ceil);
        }
        if burst == 0 || cburst == 0 {
            return Err(ParamsError::Burst);
        }
        if usize::from(prio) >= PRIOS {
            return Err(ParamsError::Prio);
        }
        if parent.is_some_and(|parent| parent >= place) {
            return Err(ParamsError::Parent);
        }
        Ok(())
    }
}

/// The mode of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is at its ceil.
    CantSend,
    /// It is at its rate, and sends if an ancestor lends.
    MayBorrow,
    /// It is below its rate.
    CanSend,
}

/// A class; a leaf has a queue of type `Q`.
#[derive(Clone, Debug)]
pub struct Class<Q> {
    params: ClassParams,
    pub(super) queue: Option<Q>,
    pub(super) parent: u8,
    pub(super) level: u8,
    pub(super) mode: Mode,
    rate: RateTable,
    ceil: RateTable,
    buffer: i64,
    cbuffer: i64,
    /// The time at which each bucket would have been empty if it had been filled since: its tokens are the
    /// time since then, up to its depth.
    empty_at: u64,
    cempty_at: u64,
    /// When the tokens were last computed.
    t_c: Nanos,
    /// Cost of the last packet at each bucket, and its length; [`UNKNOWN`] in a class that cannot send on its
    /// own tokens.
    cost: i64,
    ccost: i64,
    len: u64,
    /// When the mode changes if nothing is sent.
    pub(super) event: Nanos,
    quantum: i64,
    /// Bytes left of its turn, at each level at which it is served.
    deficit: [i64; LEVELS],
    pub(super) feed: Feed,
    /// Used in classes with children.
    lended: u64,
    borrowed: u64,
    pub(super) sent: Sent,
}

impl<Q> Class<Q> {
    /// A class that others borrow from.
    #[must_use]
    pub fn inner(params: ClassParams) -> Class<Q> {
        Class::new(params, None)
    }

    /// A leaf with the empty queue `queue`.
    #[must_use]
    pub fn leaf(params: ClassParams, queue: Q) -> Class<Q> {
        Class::new(params, Some(queue))
    }

    fn new(params: ClassParams, queue: Option<Q>) -> Class<Q> {
        let table =
            |rate: Rate| RateTable::new((rate.0 / 8).max(1), params.mpu, params.overhead, params.linklayer);
        let (rate, ceil) = (table(params.rate), table(params.ceil));
        let (buffer, cbuffer) = (
            rate.time(params.burst).0.min(MBUFFER.unsigned_abs()).cast_signed(),
            ceil.time(params.cburst).0.min(MBUFFER.unsigned_abs()).cast_signed(),
        );
        let mut class = Class {
            params,
            queue,
            parent: params.parent.and_then(|parent| u8::try_from(parent).ok()).unwrap_or(ROOT),
            level: 0,
            mode: Mode::CanSend,
            rate,
            ceil,
            buffer,
            cbuffer,
            empty_at: 0,
            cempty_at: 0,
            t_c: Nanos::ZERO,
            cost: 0,
            ccost: 0,
            len: UNKNOWN,
            event: Nanos(u64::MAX),
            quantum: params.quantum().into(),
            deficit: [0; LEVELS],
            feed: Feed::default(),
            lended: 0,
            borrowed: 0,
            sent: Sent::default(),
        };
        class.fill(Nanos::ZERO);
        class
    }

    /// Its parameters.
    pub const fn params(&self) -> &ClassParams {
        &self.params
    }

    /// The queue of a leaf.
    pub const fn queue(&self) -> Option<&Q> {
        self.queue.as_ref()
    }

    /// Its mode at the last dequeue.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Packets that it and its children sent on its own tokens; for a leaf all packets without borrowing.
    pub const fn lended(&self) -> u64 {
        if self.queue.is_some() { self.sent.packets - self.borrowed } else { self.lended }
    }

    /// Packets and bytes that a leaf has sent.
    pub const fn sent(&self) -> (u64, u64) {
        (self.sent.packets, self.sent.bytes)
    }

    /// Packets of it and its children sent on an ancestor's tokens.
    pub const fn borrowed(&self) -> u64 {
        self.borrowed
    }

    /// Fills the buckets at `now`.
    pub(super) fn fill(&mut self, now: Nanos) {
        self.set_tokens(now, self.buffer, self.cbuffer);
        self.set_mode(Mode::CanSend);
        self.event = Nanos(u64::MAX);
        self.deficit = [0; LEVELS];
        self.feed = Feed::default();
    }

    /// The tokens of both buckets at the last computation.
    fn tokens(&self) -> (i64, i64) {
        let since = |time: u64| self.t_c.0.wrapping_sub(time).cast_signed();
        (since(self.empty_at), since(self.cempty_at))
    }

    /// Sets the tokens of both buckets at `now`.
    const fn set_tokens(&mut self, now: Nanos, tokens: i64, ctokens: i64) {
        self.empty_at = now.0.wrapping_sub(tokens.cast_unsigned());
        self.cempty_at = now.0.wrapping_sub(ctokens.cast_unsigned());
        self.t_c = now;
    }

    fn earned(&self, now: Nanos) -> i64 {
        now.0.saturating_sub(self.t_c.0).min(MBUFFER.unsigned_abs()).cast_signed()
    }

    /// The mode at `now`, and when it changes (Linux `htb_class_mode`; HTB manual, section "theory": green,
    /// yellow, red).
    pub(super) fn class_mode(&self, now: Nanos) -> (Mode, Nanos) {
        let earned = self.earned(now);
        let after = |shortage: i64| Nanos(now.0.saturating_add(shortage.unsigned_abs()));
        let (tokens, ctokens) = self.tokens();
        let (tokens, ctokens) = (tokens + earned, ctokens + earned);
        if ctokens < 0 {
            (Mode::CantSend, after(ctokens))
        } else if tokens < 0 {
            (Mode::MayBorrow, after(tokens))
        } else {
            (Mode::CanSend, Nanos(u64::MAX))
        }
    }

    /// When its ceil allows it to send, and when both its buckets do.
    pub(super) fn free_at(&self, now: Nanos) -> (Nanos, Nanos) {
        let at = |tokens: i64| {
            let shortage = tokens.min(0).unsigned_abs();
            Nanos(self.t_c.0.saturating_add(shortage)).max(now)
        };
        let (tokens, ctokens) = self.tokens();
        let ceil = at(ctokens);
        (ceil, ceil.max(at(tokens)))
    }

    pub(super) const fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.len = UNKNOWN;
    }

    /// Charges for a packet that it or a descendant sends on its own tokens, if the packet is as long as the
    /// last one and causes no debt. Otherwise charges nothing and returns `false`.
    pub(super) fn charge_again(&mut self, now: Nanos, len: u32) -> bool {
        let have = |empty_at: u64| now.0.wrapping_sub(empty_at).cast_signed();
        let tokens = have(self.empty_at).min(self.buffer).wrapping_sub(self.cost);
        let ctokens = have(self.cempty_at).min(self.cbuffer).wrapping_sub(self.ccost);
        let is_paid = u64::from(len) == self.len && tokens | ctokens >= 0;
        if is_paid {
            self.set_tokens(now, tokens, ctokens);
        }
        is_paid
    }

    /// Charges for a packet that is sent on the tokens of a class of `level`: its own tokens if that is at or
    /// below its level, and always those of its ceil (Linux `htb_accnt_tokens`, `htb_accnt_ctokens`). Returns
    /// whether its mode is still [`Mode::CanSend`].
    pub(super) fn charge(&mut self, now: Nanos, level: u8, len: u32) -> bool {
        let earned = self.earned(now);
        // Both tables are for the same link.
        let length = self.rate.length(len);
        // Below 2^62, because every table shifts by at least two; above the deepest debt the value does not
        // matter.
        let cost = |table: &RateTable| table.time_of(length).0.cast_signed().min(2 * MBUFFER);
        (self.cost, self.ccost) = (cost(&self.rate), cost(&self.ceil));
        let pay = |tokens: i64, depth: i64, cost: i64| ((tokens + earned).min(depth) - cost).max(1 - MBUFFER);
        let (mut tokens, ctokens) = self.tokens();
        if self.level >= level {
            self.lended += u64::from(self.level == level);
            tokens = pay(tokens, self.buffer, self.cost);
        } else {
            self.borrowed += 1;
            tokens += earned;
        }
        let ctokens = pay(ctokens, self.cbuffer, self.ccost);
        self.set_tokens(now, tokens, ctokens);
        let can_send = self.mode == Mode::CanSend && tokens >= 0 && ctokens >= 0;
        self.len = if can_send { len.into() } else { UNKNOWN };
        can_send
    }

    /// Subtracts a packet's bytes from its turn at `level`; returns whether the turn is over. If so, adds the
    /// quantum for the next turn.
    pub(super) fn ends_turn(&mut self, level: u8, len: u32) -> bool {
        let deficit = &mut self.deficit[usize::from(level) & (LEVELS - 1)];
        *deficit -= i64::from(len);
        let is_over = *deficit < 0;
        if is_over {
            *deficit += self.quantum;
        }
        is_over
    }

    /// Sets other parameters. Parent and priority stay, and so do the tokens, which are times.
    pub(super) fn change(&mut self, to: &ClassParams) {
        let ClassParams { parent, prio, .. } = self.params;
        let Class { params, rate, ceil, buffer, cbuffer, quantum, .. } =
            Class::<Q>::inner(ClassParams { parent, prio, ..*to });
        (self.params, self.rate, self.ceil) = (params, rate, ceil);
        (self.buffer, self.cbuffer, self.quantum) = (buffer, cbuffer, quantum);
        // A packet as long as the last one has another cost now.
        self.len = UNKNOWN;
    }
}
