"""@NAME@: a queue of my own for Goodqueue.

A FIFO that keeps the delay short: while the oldest packet has waited for longer than `target`, one packet each
`interval` is marked, or dropped if its sender does not speak ECN. Change it as you like; docs/python.md has the rules.

    python @NAME@.py          # checks the rules, and compares it with a FIFO and codel
"""

from collections import deque

import goodqueue


class Mine:
    """Times are in nanoseconds."""

    def __init__(self, limit=1000, target=5_000_000, interval=20_000_000):
        self.limit, self.target, self.interval = limit, target, interval
        self.packets, self.next_signal = deque(), 0

    def enqueue(self, now, packet):
        if len(self.packets) == self.limit:
            packet.drop("limit")
            return
        packet.arrived = now
        self.packets.append(packet)

    def dequeue(self, now):
        if not self.packets:
            return None
        packet = self.packets.popleft()
        if now - packet.arrived <= self.target:
            self.next_signal = now + self.interval
        elif now >= self.next_signal and self.packets:
            self.next_signal = now + self.interval
            if not packet.mark("codel"):
                packet.drop("codel")
                return self.packets.popleft()
        return packet


if __name__ == "__main__":
    print(goodqueue.check_queue(Mine))
    print(goodqueue.run("tcp_1up", length="5s", queues=["pfifo:1000", ("@NAME@", Mine), "codel"]))
