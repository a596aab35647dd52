"""@NAME@: a congestion control of my own for Goodqueue: additive increase, multiplicative decrease (AIMD).

After a loss or a mark `keep` of the window is left; then it grows by `step` segments a round trip. Change it as
you like; docs/python.md has what there is to read and to set.

    python @NAME@.py          # checks the rules, and compares it with CUBIC
"""

import goodqueue


class Mine:
    """Windows are in segments, times in nanoseconds. Each connection has an object of its own."""

    def __init__(self, keep=0.5, step=1):
        self.keep, self.step = keep, step
        self.ssthresh = float("inf")  # below it the window doubles each round trip
        self.credit = 0  # segments acknowledged, times `step`, that have not made the window grow

    def ack(self, now, ack, window):
        if ack.in_recovery or not window.is_limited:
            return
        if window.cwnd < self.ssthresh:
            window.cwnd += ack.acked
            return
        self.credit += ack.acked * self.step
        window.cwnd += self.credit // window.cwnd
        self.credit %= window.cwnd

    def event(self, now, event, window):
        if event in ("lost", "marked", "timeout"):
            self.ssthresh = max(int(self.keep * window.prior_cwnd), 2)
        if event in ("lost", "marked"):  # after a timeout the sender begins with what is in flight
            window.cwnd = self.ssthresh


if __name__ == "__main__":
    print(goodqueue.check_cc(("@NAME@", Mine)))
    both = [("@NAME@", Mine), "cubic"]
    print(goodqueue.run("rrul_var", flows=2, length="5s", cc=both, queues="pfifo:1000"))
