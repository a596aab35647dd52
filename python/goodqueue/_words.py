"""Arguments of Python in the words of `goodqueue run`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _goodqueue
from ._errors import UsageError

#: Arguments whose names differ from the flags of the command, since Python has the word or they take several.
RENAMED = {"queues": "queue", "with_": "with"}
#: Arguments that name files.
FILES = ("link", "trace_up", "trace_down")

#: A user-defined queue: its name, and what makes one.
Own = tuple[str, Callable[[], object]]
#: A user-defined congestion control: its name, what makes one, whether it is scalable.
OwnCc = tuple[str, Callable[[], object], bool]


def of(arguments: Mapping[str, Any]) -> list[str]:
    """The words of these arguments; those that are None or False are left out."""
    words: list[str] = []
    kinds = {name: kind for name, kind, _ in _goodqueue.keys()}
    for key, value in arguments.items():
        name = RENAMED.get(key, key)
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if kinds[name] == "flag":
            if not isinstance(value, bool):
                raise TypeError(f"{key} {value!r}: write True or False")
            words += [flag] if value else []
        elif key == "seeds":
            words += _seeds(value)
        elif key == "set":
            words += [f"{flag}={path}={_set(path, one)}" for path, one in _mapping(key, value).items()]
        elif kinds[name] == "list" or (_is_list(value) and key in ("marks", "with_", "rtt", "cc")):
            # An empty list asks for nothing.
            values = [_one(key, one) for one in (value if _is_list(value) else [value])]
            words += [f"{flag}={','.join(values)}"] if values else []
        elif key in FILES:
            words.append(f"{flag}={os.path.abspath(_path(key, value))}")
        else:
            words.append(f"{flag}={_one(key, value)}")
    return words


def queues(given: object) -> tuple[str | None, list[str | Own]]:
    """The named ones of these queues as the command takes them, and all of them in their order."""
    if given is None:
        return None, []
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    order: list[str | Own] = []
    for queue in given:
        if isinstance(queue, _goodqueue.Queue):
            order.append(repr(queue)[len('Queue("') : -len('")')])
        elif isinstance(queue, str):
            # tc separates parameters with spaces, the command with commas.
            words = ",".join(queue.replace(",", " ").split())
            if not words:
                raise UsageError("queues: an empty name; `goodqueue.queues()` lists queues and parameters")
            order.append(words)
        else:
            order.append(_own(queue))
    if not order:
        raise UsageError(
            'queues: an empty list; name one, as ["fq_codel"], or leave it out for the usual ones'
        )
    named = [queue for queue in order if isinstance(queue, str)]
    return ",".join(named) or None, order


def _own(queue: object) -> Own:
    name, make = (
        queue if isinstance(queue, tuple) and len(queue) == 2 else (getattr(queue, "__name__", None), queue)
    )
    if callable(getattr(make, "enqueue", None)) and not isinstance(make, type):
        raise TypeError(
            f"queues: {make!r} is one queue, and each direction needs one of its own: give its class, or "
            "(name, function)"
        )
    if not callable(make):
        raise TypeError(
            f"queues: {queue!r}: a queue is a name with parameters, a goodqueue.Queue, a class of your own, "
            "or (name, function that makes one)"
        )
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"queues: {queue!r} has no name: write (name, function)")
    return name, make


def ccs(given: object) -> tuple[object, list[OwnCc]]:
    """The words for these congestion controls, including user-defined ones."""
    if given is None or isinstance(given, str):
        return given, []
    whole = _is_list(given) and not (isinstance(given, tuple) and len(given) == 2 and callable(given[1]))
    names: list[object] = []
    mine: list[OwnCc] = []
    for one in given if whole else [given]:  # type: ignore[attr-defined]
        if isinstance(one, (str, int, float)):
            names.append(one)
            continue
        own = own_cc(one)
        names.append(own[0])
        if own not in mine:
            mine.append(own)
    return names, mine


def own_cc(control: object) -> OwnCc:
    """A user-defined congestion control: its name, what makes one, whether it is scalable."""
    name, make = (
        control
        if isinstance(control, tuple) and len(control) == 2
        else (getattr(control, "__name__", None), control)
    )
    if callable(getattr(make, "ack", None)) and not isinstance(make, type):
        raise TypeError(
            f"cc: {make!r} is one congestion control, and each connection needs one of its own: give its "
            "class, or (name, function)"
        )
    if not callable(make):
        raise TypeError(
            f"cc: {control!r}: a congestion control is a name, a class of your own with the methods ack and "
            "event, or (name, function that makes one)"
        )
    if isinstance(make, type) and not all(callable(getattr(make, one, None)) for one in ("ack", "event")):
        raise TypeError(
            f"cc: {make!r}: a congestion control has the methods ack(self, now, ack, window) and "
            "event(self, now, event, window)"
        )
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise UsageError(
            f"cc: {name!r}: the name of a congestion control of your own begins with a letter and has "
            "letters, digits, _ and -; write (name, function)"
        )
    return name, make, bool(getattr(make, "is_scalable", False))


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _mapping(key: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f'{key} {value!r}: write a dict, as {{"variant.NAME.queue": "codel"}}')
    return value


def _set(path: str, value: object) -> str:
    from ._toml import value as toml

    return value if isinstance(value, str) else toml(path, value)


def _path(key: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{key} {value!r}: write the name of a file")
    return os.fspath(value)


def _one(key: str, value: object) -> str:
    """One value in the words of the command."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f'{key} {value!r}: write text with its unit, as "20mbit" or "20ms", or a number')
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{key} {value}: not a number")
        return repr(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _seeds(value: object) -> list[str]:
    cure = "write how many, as 5, or the seeds, as range(5) or [1, 4, 9]: whole numbers from 0 on"
    if isinstance(value, bool) or not isinstance(value, (int, str, Iterable)):
        raise TypeError(f"seeds {value!r}: {cure}")
    if isinstance(value, (int, str)):
        return [f"--seeds={value}"]
    seeds = list(value)
    if not seeds or any(isinstance(seed, bool) or not isinstance(seed, int) or seed < 0 for seed in seeds):
        raise UsageError(f"seeds {value!r}: {cure}")
    # One number alone would say how many.
    return [f"--seed={seeds[0]}"] if len(seeds) == 1 else [f"--seeds={','.join(map(str, seeds))}"]
