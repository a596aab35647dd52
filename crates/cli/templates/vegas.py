"""@NAME@: TCP Vegas, as a congestion control of my own for Goodqueue.

Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995. Once a round trip it
computes how many of its segments wait in queues: the window times the part of the round trip that is above the
least one. It holds them between `alpha` and `beta`. A loss halves the window, as in Reno.

    python @NAME@.py          # checks the rules, and compares it with CUBIC
"""

import goodqueue


class Mine:
    """Windows are in segments, times in nanoseconds. Each connection has an object of its own."""

    def __init__(self, alpha=2, beta=4):
        self.alpha, self.beta = alpha, beta
        self.ssthresh = float("inf")
        self.round = 0  # a round trip is over when what was sent at this count of `delivered` has arrived
        self.round_rtt = None  # the least round-trip time in it
        self.is_growing = True  # in slow start: every other round trip

    def ack(self, now, ack, window):
        if ack.in_recovery:
            return
        if ack.rtt is not None:
            self.round_rtt = min(ack.rtt, self.round_rtt or ack.rtt)
        if window.cwnd < self.ssthresh and self.is_growing and window.is_limited:
            window.cwnd += ack.acked
        if ack.prior_delivered < self.round or self.round_rtt is None:
            return

        # The next round trip begins.
        self.round = window.delivered
        queued = window.cwnd * (self.round_rtt - window.min_rtt) // self.round_rtt
        self.round_rtt = None
        self.is_growing = not self.is_growing
        if window.cwnd < self.ssthresh:
            if queued > self.beta:  # the end of slow start: what waits is too much
                if window.cwnd > queued + 2:
                    window.cwnd -= queued
                self.ssthresh = window.cwnd
        elif queued > self.beta and window.cwnd > 2:
            window.cwnd -= 1
        elif queued < self.alpha and window.is_limited:
            window.cwnd += 1

    def event(self, now, event, window):
        if event in ("lost", "marked", "timeout"):
            self.ssthresh = max(window.prior_cwnd // 2, 2)
        if event in ("lost", "marked"):  # after a timeout the sender begins with what is in flight
            window.cwnd = self.ssthresh


if __name__ == "__main__":
    print(goodqueue.check_cc(("@NAME@", Mine)))
    both = [("@NAME@", Mine), "cubic"]
    print(goodqueue.run("rrul_var", flows=2, length="5s", cc=both, queues="pfifo:1000"))
