"""Whether @NAME@ keeps the rules, and uses the line. Run it with `python -m pytest`."""

import goodqueue
from @NAME@ import Mine


def test_it_keeps_the_rules():
    assert not goodqueue.check_cc(("@NAME@", Mine)).violations


def test_it_uses_the_line():
    result = goodqueue.run("tcp_1up", rate="20mbit", length="10s", cc=("@NAME@", Mine), queues="fq_codel")
    assert result.summary["goodput_up_bps"][0] > 15e6
