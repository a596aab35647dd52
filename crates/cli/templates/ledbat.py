"""@NAME@: LEDBAT (RFC 6817), as a congestion control of my own for Goodqueue. It yields to others.

It holds the delay that queues add at `target`. The window grows by at most one segment a round trip while the delay
is below the target, and shrinks as fast above it (section 2.4.2, with GAIN 1). It measures round trips; the RFC
measures one-way delays, which leave out the queues of the way back.

    python @NAME@.py          # checks the rules, and compares it with CUBIC
"""

import goodqueue

#: The least window, segments (MIN_CWND).
LEAST = 2


class Mine:
    """Windows are in segments, times in nanoseconds. Each connection has an object of its own."""

    def __init__(self, target=60_000_000):
        self.target = target
        self.credit = 0  # growth of less than a segment, in ns times segments
        self.is_slow_start = True  # until the first loss, or until a quarter of the target is reached

    def ack(self, now, ack, window):
        if ack.rtt is None or ack.in_recovery:
            return
        delay = ack.rtt - window.min_rtt
        # What is on the way by then doubles it, and doubles it again.
        if delay > self.target // 4:
            self.is_slow_start = False
        if self.is_slow_start:
            if window.is_limited:
                window.cwnd += ack.acked
            return
        # Off the target by its whole length in either direction at most.
        delay = min(delay, 2 * self.target)
        if delay < self.target and not window.is_limited:
            return
        self.credit += (self.target - delay) * ack.acked
        segment = self.target * window.cwnd
        whole = int(self.credit / segment)  # towards 0
        self.credit -= whole * segment
        window.cwnd = max(window.cwnd + whole, LEAST)

    def event(self, now, event, window):
        if event in ("lost", "marked"):
            window.cwnd = max(window.prior_cwnd // 2, LEAST)
            self.is_slow_start = False


if __name__ == "__main__":
    print(goodqueue.check_cc(("@NAME@", Mine)))
    both = [("@NAME@", Mine), "cubic"]
    print(goodqueue.run("rrul_var", flows=2, length="5s", cc=both, queues="pfifo:1000"))
