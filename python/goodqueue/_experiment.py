"""Experiments: a test, a network, the queues to compare, and seeds, as in an experiment file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _goodqueue, _live, _toml, _words
from ._errors import UsageError
from ._result import Result

#: A queue: its name with parameters, a Queue, a class of your own, or a name and a function that makes one.
QueueLike = str | _goodqueue.Queue | type | Callable[[], object] | tuple[str, Callable[[], object]]
#: A congestion control: its name, a class of your own, or a name and a function that makes one.
CcLike = str | type | Callable[[], object] | tuple[str, Callable[[], object]]


def run(
    test: str | os.PathLike[str] = "rrul",
    *,
    queues: QueueLike | Iterable[QueueLike] | None = None,
    line: str | None = None,
    rate: str | int | None = None,
    up: str | int | None = None,
    down: str | int | None = None,
    trace_up: str | os.PathLike[str] | None = None,
    trace_down: str | os.PathLike[str] | None = None,
    rtt: str | Iterable[str] | None = None,
    shape: str | int | None = None,
    shape_up: str | int | None = None,
    shape_down: str | int | None = None,
    buffer: str | None = None,
    loss: str | float | None = None,
    ring: int | None = None,
    bql: bool = False,
    link: str | os.PathLike[str] | None = None,
    ecn: bool = False,
    ipv6: bool = False,
    length: str | None = None,
    delay: str | None = None,
    idle: str | None = None,
    flows: int | str | None = None,
    cc: CcLike | Iterable[CcLike] | None = None,
    marks: Iterable[str] | None = None,
    transport: str | None = None,
    pacing: str | int | None = None,
    udp_bandwidth: str | int | None = None,
    udp_pktsize: int | None = None,
    step: str | None = None,
    probe_interval: str | None = None,
    start_jitter: str | None = None,
    with_: str | Iterable[str] | None = None,
    seed: int | None = None,
    seeds: int | str | Iterable[int] | None = None,
    set: Mapping[str, object] | None = None,
    live: bool = False,
    super_packets: bool = False,
    title: str = "",
    note: str = "",
    threads: int = 0,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """Runs a test over a link, once for each queue, in the simulator or live, and returns the measurements.

    It does the same as the command `goodqueue run`, with the same results to the byte. Units are those of tc:
    "20mbit" and "1gbit" are bits per second, times are "20ms" or "30s".

        result = goodqueue.run("rrul", rate="20mbit", rtt="20ms", queues=["pfifo:1000", "fq_codel", "cake"])
        print(result)                   # the table of the command
        result.plot()                   # delay and goodput over time
        result.summary.to_pandas()      # a row for each queue and seed
        result.save("out")              # page, pictures, CSV, Parquet, flent's files

    What runs
        test: name of a test (`goodqueue.tests()` lists them), or an experiment file that ends in .toml
        queues: queues to compare, each a name with parameters ("fq_codel target=10ms";
            `goodqueue.queues()` lists them), a `goodqueue.Queue`, your own class with the methods
            `enqueue(now, packet)` and `dequeue(now)`, or `(name, function)` where the function makes such a
            queue. Default: pfifo:1000, codel, fq_codel

    The link
        line: name of a ready-made line (`goodqueue.lines()`)
        rate, up, down: rate of the bottleneck both ways, to the server, to the client (default "20mbit")
        trace_up, trace_down: Mahimahi trace files that the line follows
        rtt: base round-trip time (default "20ms"); a list for tests with several servers
        shape, shape_up, shape_down: put the queues into a router that shapes to this rate or share ("90%")
        buffer: the modem's own queue, with which the others are compared
        loss: share of packets lost at random each way, 0 to 1 or "0.1%"
        ring, bql: packets in a device ring below the queue; whether byte queue limits keep it short
        link: a file that describes a Wi-Fi network
        ecn, ipv6: let TCP negotiate ECN; use IPv6

    The load
        length, delay, idle: length of the load ("30s"), unit of staggered starts ("5s"), idle time before
            the load ("2s")
        flows, cc, marks: number of flows ("1,8" is 1 up and 8 down), congestion control, DSCPs, in tests that
            do not set them. Your own class with the methods `ack(now, ack, window)` and `event(now, event,
            window)`, or `(name, function)` where the function makes such an object, is a congestion control
        transport, pacing: "tcp" or "quic"; largest pacing rate of each TCP flow
        udp_bandwidth, udp_pktsize: rate and payload in bytes of UDP flows, in tests that do not set them
        step, probe_interval, start_jitter: time between two samples of goodput ("200ms"), time between two
            probes ("10ms"), largest random delay of the start of each flow ("10ms")
        with_: applications in addition to the test: "voip", "web", "dash", "videocall", "game"
        seed, seeds: seed of all random numbers; how often (5) or with which seeds (range(5)) each queue runs
        set: keys of an experiment file to change: {"variant.NAME.queue": "codel"}

    Live
        live: send this Linux kernel's TCP through the queues in real time, in separate network namespaces. It
            needs root, or user namespaces; if something is missing, a MachineError names it. Your own class
            runs in another Python process, and goes there by value (pickle). The congestion control is the
            kernel's; your own is not possible
        super_packets: let the hosts of a live run send super-packets (TSO), which the queue cuts or takes
            whole; for rates above 1 Gbit/s

    This run
        title, note: for page and files
        threads: simulations at a time; 0 means one for each processor
        progress: called a few times a second with the completed share of the work, from 0 to 1

    Raises UsageError if an argument is wrong; the message names it and says what to write. Ctrl-C ends the
    run with KeyboardInterrupt. Other Python threads continue while it simulates.
    """
    given = dict(locals())
    own = {key: given.pop(key) for key in ("test", "title", "note", "threads", "progress")}
    return _run(own, given, None)


def _run(
    own: dict[str, Any], given: dict[str, Any], text: str | None, ccs: list[_words.OwnCc] | None = None
) -> Result:
    asked, words = _ask(own["test"], given, text, ccs)
    for key in ("title", "note"):
        if not isinstance(own[key], str):
            raise TypeError(f"{key} {own[key]!r}: write text")
    if isinstance(own["threads"], bool) or not isinstance(own["threads"], int) or own["threads"] < 0:
        raise UsageError(
            f"threads {own['threads']!r}: a whole number; 0 means as many as there are processors"
        )
    if own["progress"] is not None and not callable(own["progress"]):
        raise TypeError(f"progress {own['progress']!r}: a function of one number")
    if words and own["title"]:
        words = [*words, f"--title={own['title']}"]
    if words and own["note"]:
        words = [*words, f"--note={own['note']}"]
    worker = _live.worker() if given["live"] else []
    return Result(asked.run(own["title"], own["note"], words, own["threads"], own["progress"], worker))


def _ask(
    test: object, given: dict[str, Any], text: str | None, ccs: list[_words.OwnCc] | None = None
) -> tuple[_goodqueue.Asked, list[str]]:
    """What the arguments mean, and the command that does the same; no words if there is none."""
    if not isinstance(test, (str, os.PathLike)):
        raise TypeError(f"test {test!r}: write the name of a test, or of an experiment file")
    name = os.fspath(test)
    if text is None and name.endswith(".toml"):
        name = os.path.abspath(name)
    if name.startswith("-"):
        raise UsageError(f"test {name}: no test has this name; `goodqueue.tests()` lists the tests")
    named, order = _words.queues(given.pop("queues", None))
    mine = [queue for queue in order if not isinstance(queue, str)]
    # User-defined queues replace another.
    flag = named if named or not mine else "pfifo"
    own = list(ccs or [])
    if "cc" in given:
        given["cc"], more = _words.ccs(given["cc"])
        own += more
    live = given.get("live", False)
    if live and own:
        raise UsageError(
            f"cc {own[0][0]}: live, congestion control is that of this kernel's TCP (a kernel module or a "
            "BPF program); leave live out"
        )
    words = [name, *_words.of({"queues": flag, **given})]
    asked = _goodqueue.Asked(words, text, own)
    if mine and live:
        asked.put_live_queues(
            [None if isinstance(queue, str) else (queue[0], _live.packed(*queue)) for queue in order]
        )
    elif mine:
        places = [None if isinstance(queue, str) else queue for queue in order]
        asked.put_queues(len(order) - len(mine) or 1, places)
    can_be_typed = text is None and not mine and not own
    return asked, ["goodqueue", "run", *words] if can_be_typed else []


class Experiment:
    """An experiment, as an experiment file describes it (docs/experiments.md).

    From a file, from TOML text, from a dict, or key by key:

        Experiment.read("wifi.toml")
        Experiment.from_toml('test = "rrul"\\nqueues = ["codel"]')
        Experiment({"test": "rrul", "queues": ["codel"], "link": {"rate": "5mbit"}})
        Experiment(test="rrul", queues=["codel"]).set("link.rate", "5mbit").set("seeds", [1, 2, 3])

    The value of a key `cc` may be your own class, or `(name, function)`, as in `goodqueue.run`.

    It never changes: `set` returns another experiment. A wrong key raises a UsageError when the experiment is
    made; it names the key, and for a text its line and column.
    """

    def __init__(self, keys: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        if keys is not None and not isinstance(keys, Mapping):
            raise TypeError(
                f"an experiment is a dict of its keys, not {keys!r}; Experiment.from_toml reads text"
            )
        tables = {**(keys or {}), **more}
        self._ccs: list[_words.OwnCc] = []
        text, self._paths = _toml.text(self._named("", tables))
        self._start(text, "experiment", {})

    def _named(self, key: str, value: Any) -> Any:
        """The value with the names of user-defined congestion controls in their place."""
        if isinstance(value, Mapping):
            return {key: self._named(key, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._named(key, one) for one in value]
        if key != "cc" or isinstance(value, (str, int, float)) or value is None:
            return value
        own = _words.own_cc(value)
        if own not in self._ccs:
            self._ccs = [*self._ccs, own]
        return own[0]

    def _start(self, text: str, name: str, changes: dict[str, object]) -> None:
        self._text, self._name, self._changes = text, name, changes
        self._asked()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Experiment:
        """The experiment of a TOML file. Files that it names are looked for in its folder."""
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(4 << 20)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{os.fspath(path)}: {getattr(error, 'strerror', None) or error}") from error
        return cls.from_toml(text, name=os.fspath(path))

    @classmethod
    def from_toml(cls, text: str, *, name: str = "experiment.toml") -> Experiment:
        """The experiment of a TOML text. `name` is what errors call it, and files that it names are looked
        for in the folder of that name."""
        if not isinstance(text, str):
            raise TypeError(f"text {text!r}: write the TOML text, or use Experiment.read for a file")
        self = cls.__new__(cls)
        self._paths, self._ccs = [], []
        self._start(text, name, {})
        return self

    def set(self, key: str, value: object) -> Experiment:
        """The same experiment with another value of a key: `set("link.rate", "5mbit")`.

        Dots separate tables. An entry of a list is identified by its name or its number, from 1:
        `set("variant.sqm.queue", "codel")`, `set("flow.1.count", 4)`.
        """
        other = type(self).__new__(type(self))
        other._paths, other._ccs = self._paths, self._ccs
        value = other._named(key.rpartition(".")[2] if isinstance(key, str) else "", value)
        other._start(self._text, self._name, {**self._changes, key: value})
        return other

    def run(
        self,
        *,
        queues: QueueLike | Iterable[QueueLike] | None = None,
        live: bool = False,
        title: str = "",
        note: str = "",
        threads: int = 0,
        progress: Callable[[float], object] | None = None,
    ) -> Result:
        """Runs it in the simulator, or live. The arguments are those of `goodqueue.run`.

        queues: others than those of the experiment; of your own, too
        live: only experiments over [wifi]; for others, see `goodqueue.run`
        """
        given: dict[str, Any] = {"queues": queues, "set": self._changes or None, "live": live}
        own = {"test": self._name, "title": title, "note": note, "threads": threads, "progress": progress}
        return _run(own, given, self._text, self._ccs)

    @staticmethod
    def schema() -> dict[str, Any]:
        """The JSON schema of experiment files, for editors."""
        schema: dict[str, Any] = json.loads(_goodqueue.schema())
        return schema

    @property
    def plan(self) -> dict[str, Any]:
        """All of it resolved, in words and tc's units: every link, queue, flow and seed."""
        plan: dict[str, Any] = json.loads(self._asked().shown())
        return plan

    @property
    def warnings(self) -> list[str]:
        """What to read before trusting the result."""
        return self._asked().warnings()

    @property
    def toml(self) -> str:
        """Its text, without the keys that `set` changed."""
        return self._text

    def _asked(self) -> _goodqueue.Asked:
        try:
            return _ask(self._name, {"set": self._changes or None}, self._text, self._ccs)[0]
        except UsageError as error:
            place = re.match(re.escape(self._name) + r":(\d+):\d+: ", str(error))
            if not place or not self._paths:
                raise
            at = self._paths[min(int(place[1]), len(self._paths)) - 1] if self._paths else ""
            raise UsageError(f"{at}: {str(error)[place.end() :]}") from None

    def __repr__(self) -> str:
        return f"<goodqueue.Experiment {self._name}: {self.plan.get('about') or 'without about'}>"
