"""Live runs: the child is another interpreter, which gets a queue in Python by value (pickle).

It is not forked: who enters a user namespace has one thread, and a notebook has many.
"""

from __future__ import annotations

import base64
import importlib
import json
import pickle
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ._errors import MachineError, UsageError

#: What the child runs, with the parent's sys.path as its argument.
_CHILD = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from goodqueue import _live; _live.work()"


def worker() -> list[str]:
    """Program and arguments of the child."""
    if not sys.executable:
        raise MachineError(
            "live: sys.executable is empty, so no other interpreter can be started: run it from python3"
        )
    return [sys.executable, "-c", _CHILD, json.dumps([path for path in sys.path if isinstance(path, str)])]


def work() -> None:
    """In the child: runs the order on standard input. What a queue prints goes to standard error, since
    standard output belongs to the parent."""
    from . import _goodqueue

    sys.stdout = sys.stderr
    _goodqueue.live_worker()


def packed(name: str, make: Callable[[], object]) -> str:
    """A user-defined queue as text."""
    pickler: Any = pickle
    try:
        pickler = importlib.import_module("cloudpickle")
    except ImportError:
        if getattr(make, "__module__", None) == "__main__":
            words = "a class or function of this script or notebook goes to another process"
            cure = "pip install cloudpickle, or goodqueue[live]; or put it into a module"
            raise UsageError(f"queues: {name}: live, {words}: {cure}") from None
    try:
        return base64.b64encode(pickler.dumps((name, make))).decode()
    except Exception as error:
        words = f"it cannot go to another process: {error}"
        raise UsageError(f"queues: {name}: live, {words}; keep files, locks and sockets out of it") from error


def unpacked(text: str) -> tuple[str, Callable[[], object]]:
    """In the child: the queue of this text."""
    pair: tuple[str, Callable[[], object]] = pickle.loads(base64.b64decode(text))
    return pair


def said(error: BaseException, where: TracebackType | None) -> str:
    """In the child: the words for the parent."""
    if isinstance(error, UsageError):
        return str(error)
    lines = traceback.format_exception(error.with_traceback(where))
    return f"{type(error).__name__}: {error}\n{''.join(lines).rstrip()}"
