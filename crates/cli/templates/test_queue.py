"""Whether @NAME@ keeps the rules, and keeps the delay short. Run it with `python -m pytest`."""

import goodqueue
from @NAME@ import Mine


def test_it_keeps_the_rules():
    assert not goodqueue.check_queue(Mine).violations


def test_it_keeps_the_delay_short():
    result = goodqueue.run("tcp_1up", length="5s", queues=["pfifo:1000", ("@NAME@", Mine)])
    fifo, mine = result.summary["rise_p95_ms"]
    assert mine < fifo / 2
