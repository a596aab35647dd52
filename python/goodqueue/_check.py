"""Whether a queue keeps the rules for queues."""

from __future__ import annotations

import dataclasses

from . import _goodqueue, _words
from ._errors import UsageError
from ._experiment import QueueLike


@dataclasses.dataclass(frozen=True)
class Check:
    """What came of checking a queue. `print` shows it; it is true if all rules were kept."""

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
