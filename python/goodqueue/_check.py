"""Whether a queue keeps the rules for queues."""

from __future__ import annotations

import dataclasses

from . import _goodqueue, _words
from ._errors import UsageError
from ._experiment import CcLike, QueueLike


@dataclasses.dataclass(frozen=True)
class Check:
    """The result of checking a queue. `print` shows it; it is true if all rules were kept."""

    queue: str
    #: Calls that were made.
    calls: int
    #: Most packets that the queue held.
    most_held: int
    #: For each rule "kept", "broken" or "not checked".
    rules: dict[str, str]
    #: For each broken rule how packets arrived, the seed, the step, the time, and what the queue did.
    violations: dict[str, str]
    #: A line about each rule.
    about: dict[str, str] = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        lines = [f"{self.queue}: {self.calls} calls, at most {self.most_held} packets held"]
        for rule, verdict in self.rules.items():
            lines.append(f"  {verdict:<11}  {rule:<6}  {self.about[rule]}")
            if rule in self.violations:
                lines.append(f"               {self.violations[rule]}")
        return "\n".join(lines)


def check_queue(queue: QueueLike, *, rate: str = "10mbit") -> Check:
    """Checks a queue against the rules for queues, with some 420 000 calls, as `goodqueue check-queue` does.

        print(goodqueue.check_queue(MyQueue))
        assert goodqueue.check_queue("fq_codel flows=16")

    queue: a class of your own, `(name, function)`, or a name with parameters
    rate: rate of the line that a queue of the catalogue is built for

    Raises UsageError if there is no such queue. A queue that breaks a rule, or raises, is no error: the
    answer says what it did, and with which seed it happens again.
    """
    _, order = _words.queues([queue])
    if len(order) != 1:
        raise UsageError(f"queue {queue!r}: one queue at a time")
    [one] = order
    if isinstance(one, str):
        name, (calls, most_held, rules) = one, _goodqueue.check_words(one, rate)
    else:
        name, make = one
        calls, most_held, rules = _goodqueue.check_class(name, make)
    return Check(
        queue=name,
        calls=calls,
        most_held=most_held,
        rules={rule: verdict for rule, _, verdict, _ in rules},
        violations={rule: words for rule, _, _, words in rules if words is not None},
        about={rule: about for rule, about, _, _ in rules},
    )


@dataclasses.dataclass(frozen=True)
class CcCase:
    """What a congestion control did over one line."""

    about: str
    rate_bps: int
    rtt_ms: float
    queue: str
    ecn: bool
    goodput_bps: int
    #: Median time in the queue.
    queueing_p50_ms: float
    #: What it did that no congestion control may; None if nothing.
    violation: str | None


@dataclasses.dataclass(frozen=True)
class CcCheck:
    """The result of checking a congestion control. `print` shows it; it is true if all rules were kept."""

    cc: str
    cases: list[CcCase]

    @property
    def violations(self) -> dict[str, str]:
        """For each line on which a rule was broken, what was wrong."""
        return {case.about: case.violation for case in self.cases if case.violation is not None}

    def __bool__(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        lines = [f"{self.cc}, alone for 20 s"]
        for case in self.cases:
            ecn = ", ECN" if case.ecn else ""
            line = f"{case.about} ({case.rate_bps / 1e6:g}mbit, {case.rtt_ms:g}ms, {case.queue}{ecn})"
            verdict = "kept" if case.violation is None else "broken"
            lines.append(
                f"  {verdict:<6}  {line:<48} {case.goodput_bps / 1e6:6.2f} Mbit/s, "
                f"{case.queueing_p50_ms:6.1f} ms in the queue"
            )
            if case.violation is not None:
                lines.append(f"          {case.violation}")
        return "\n".join(lines)


def check_cc(cc: CcLike) -> CcCheck:
    """Checks a congestion control over six lines, as `goodqueue check-cc` does.

        print(goodqueue.check_cc(MyCc))
        assert goodqueue.check_cc("cubic")

    cc: a class of your own, `(name, function)`, a name, or the path of a shared library

    Raises UsageError if there is no such congestion control. One that breaks a rule, or raises, is no error:
    the answer says what it did.
    """
    if isinstance(cc, str):
        name, cases = cc, _goodqueue.check_cc_words(cc)
    else:
        name, make, is_scalable = _words.own_cc(cc)
        cases = _goodqueue.check_cc_class(name, make, is_scalable)
    return CcCheck(
        cc=name,
        cases=[
            CcCase(about, rate, rtt / 1e6, queue, ecn, goodput, queueing / 1e6, violation)
            for about, rate, rtt, queue, ecn, goodput, queueing, violation in cases
        ],
    )
