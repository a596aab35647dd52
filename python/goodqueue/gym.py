"""Environments of Gymnasium: a learning algorithm as a congestion control, or as an active queue management.

    import goodqueue.gym

    env = goodqueue.gym.CcEnv(rate="20mbit", rtt="20ms", queues="pfifo:100")
    seen, info = env.reset(seed=1)
    seen, reward, terminated, truncated, info = env.step([40.0])      # a window of 40 segments

The simulator pauses for each decision. The same seed and the same actions give the same episode, to
the byte. `gymnasium.make("goodqueue/Cc-v0", rate="5mbit")` and `"goodqueue/Aqm-v0"` make the same
environments. It needs Gymnasium: pip install goodqueue[gym].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from . import _goodqueue, _words
from ._errors import UsageError
from ._experiment import Experiment

__all__ = ["AGENT", "AqmEnv", "CcEnv"]

#: What is seen, or decided: an array of numbers.
Numbers = NDArray[np.float32]


class _Absent:
    """The agent where there is none."""

    def ack(self, now: int, ack: _goodqueue.CcAck, window: _goodqueue.CcWindow) -> None:
        raise UsageError("cc agent: goodqueue.gym.CcEnv has the agent, a run has none")

    def event(self, now: int, event: str, window: _goodqueue.CcWindow) -> None:
        self.ack(now, _goodqueue.CcAck(), window)


#: The value of a flow's key `cc` in an Experiment for `CcEnv`.
AGENT = ("agent", _Absent)


class _Env(gymnasium.Env[Numbers, Numbers]):
    """What both have in common."""

    metadata: dict[str, Any] = {"render_modes": []}
    #: The names of what is seen, in the order of the observation.
    names: ClassVar[tuple[str, ...]] = ()
    render_mode = None

    def __init__(
        self,
        test: str | Experiment,
        given: dict[str, Any],
        reward: Callable[[Mapping[str, float]], float],
        **agent: Any,
    ) -> None:
        text, name, ccs = None, test, []
        if isinstance(test, Experiment):
            if given:
                raise UsageError(f"{', '.join(given)}: an experiment has all of it; change it with set()")
            name, text = test._name, test._text
            ccs = [own for own in test._ccs if own[:2] != AGENT]
            given = {"set": test._changes or None}
        if ccs:
            raise UsageError("cc: an environment has no congestion control in Python other than the agent")
        if not isinstance(name, str):
            raise TypeError(f"test {test!r}: write the name of a test, or give a goodqueue.Experiment")
        queues, order = _words.queues(given.pop("queues", None))
        if any(not isinstance(queue, str) for queue in order):
            raise UsageError("queues: an environment has no queue in Python")
        if not callable(reward):
            raise TypeError(f"reward {reward!r}: a function of the dict that `info` is")
        known = {key for key, _, _ in _goodqueue.keys()} | set(_words.RENAMED)
        unknown = sorted(given.keys() - known)
        if unknown:
            raise TypeError(f"{', '.join(unknown)}: no argument of goodqueue.run")
        words = [name, *_words.of({"queues": queues, **given})]
        self._gym = _goodqueue.Gym(words, text, **agent)
        self._reward = reward
        size = (len(self.names),)
        self.observation_space = gymnasium.spaces.Box(0.0, math.inf, size, np.float32)

    @property
    def interval_ms(self) -> float:
        """The time between two decisions."""
        return self._gym.interval_ns / 1e6

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begins again, when the agent's flow has its connection, or when the load begins.

        seed: of all that is random; None: another one than before
        """
        super().reset(seed=seed)
        seen = self._gym.reset(int(self.np_random.integers(1 << 32)))
        return np.array(seen, np.float32), self._info(seen)

    def _info(self, seen: list[float]) -> dict[str, Any]:
        return {"time_s": self._gym.now_ns / 1e9, **dict(zip(self.names, seen))}

    def _step(self, *action: float) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        seen, is_over = self._gym.step(*action)
        info = self._info(seen)
        return np.array(seen, np.float32), float(self._reward(info)), False, is_over, info

    def _action(self, action: Any) -> list[float]:
        numbers = np.asarray(action, np.float64)
        if numbers.shape != self.action_space.shape:
            raise UsageError(f"action {action!r}: as many numbers as {self.action_space} has")
        return [float(number) for number in numbers]


def _log2(value: float) -> float:
    return math.log2(max(value, 1e-3))


class CcEnv(_Env):
    """The agent is the congestion control of a flow, and decides once each `interval`.

    test: name of a test with one flow, or an Experiment in which the `cc` of one flow is `AGENT`; there may
        be others beside it
    interval: time between two decisions; None: the base round-trip time
    pacing: the agent also chooses the pacing rate
    most_window, most_mbit: the largest window in segments, and the largest pacing rate
    reward: a function of `info`; None: log2(rate_mbit) - log2(rtt_ms / min_rtt_ms) - 10 * loss
    given: the link and the load, as for goodqueue.run, with cc="agent"

    Action: the window in segments, 1 to most_window; with `pacing` also a rate in Mbit/s, up to most_mbit (0:
    not paced). Observation, of the last interval: `rate_mbit` delivered (payload), `rtt_ms` (mean; the last
    known if no ACK came), `min_rtt_ms`, `loss` (share of what was delivered or lost), `cwnd` and `in_flight`
    (segments). An episode is truncated when the load ends; it never terminates.
    """

    names = ("rate_mbit", "rtt_ms", "min_rtt_ms", "loss", "cwnd", "in_flight")

    def __init__(
        self,
        test: str | Experiment = "tcp_1up",
        *,
        interval: str | None = None,
        pacing: bool = False,
        most_window: int = 10_000,
        most_mbit: float = 1000.0,
        reward: Callable[[Mapping[str, float]], float] | None = None,
        **given: Any,
    ) -> None:
        if isinstance(test, str):
            given = {"cc": "agent", **given}
        super().__init__(test, given, reward or self.reward, is_cc=True, up=True, limit=0, interval=interval)
        if not 1 <= most_window <= 1_000_000:
            raise UsageError(f"most_window {most_window}: segments, 1 to 1 000 000")
        if not 0 < most_mbit <= 1e6:
            raise UsageError(f"most_mbit {most_mbit}: Mbit/s, above 0, at most 1 000 000")
        low, high = ([1.0, 0.0], [most_window, most_mbit]) if pacing else ([1.0], [most_window])
        self.action_space = gymnasium.spaces.Box(np.array(low, np.float32), np.array(high, np.float32))

    @staticmethod
    def reward(info: Mapping[str, float]) -> float:
        """The default: a rate twice as high is worth a round trip twice as long, and 10 % of loss."""
        stretch = info["rtt_ms"] / info["min_rtt_ms"] if info["min_rtt_ms"] else 1.0
        return _log2(info["rate_mbit"]) - _log2(stretch) - 10 * info["loss"]

    def step(self, action: Any) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Decides, and goes on for one interval."""
        window, *rest = self._action(action)
        return self._step(window, rest[0] * 1e6 if rest else 0.0)


class AqmEnv(_Env):
    """The agent is the queue in front of the bottleneck, a FIFO, and decides once each `interval` with which
    probability an arriving packet is marked, or dropped if its sender does not speak ECN.

    test: name of a test, or an Experiment
    direction: "up" or "down": at which bottleneck it is; the queue at the other is the one that is named
    limit: packets that the queue holds at most
    interval: time between two decisions; None: the base round-trip time
    reward: a function of `info`; None: log2(rate_mbit) - sojourn_ms / 5
    given: the link and the load, as for goodqueue.run

    Action: the probability, 0 to 1. Observation, of the last interval: `sojourn_ms` (mean time in the queue
    of the packets that left), `oldest_ms` (how long the oldest has waited), `packets` and `bytes` that wait,
    `rate_mbit` that left, `dropped` and `marked` (shares of what arrived), `probability`. An episode is
    truncated when the load ends; it never terminates.
    """

    names = ("sojourn_ms", "oldest_ms", "packets", "bytes", "rate_mbit", "dropped", "marked", "probability")

    def __init__(
        self,
        test: str | Experiment = "tcp_nup",
        *,
        direction: str = "up",
        limit: int = 1000,
        interval: str | None = None,
        reward: Callable[[Mapping[str, float]], float] | None = None,
        **given: Any,
    ) -> None:
        if direction not in ("up", "down"):
            raise UsageError(f'direction {direction!r}: "up" or "down"')
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1_000_000:
            raise UsageError(f"limit {limit!r}: packets, 1 to 1 000 000")
        up = direction == "up"
        super().__init__(
            test, given, reward or self.reward, is_cc=False, up=up, limit=limit, interval=interval
        )
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)

    @staticmethod
    def reward(info: Mapping[str, float]) -> float:
        """The default: a rate twice as high is worth 5 ms in the queue."""
        return _log2(info["rate_mbit"]) - info["sojourn_ms"] / 5

    def step(self, action: Any) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Decides, and goes on for one interval."""
        return self._step(self._action(action)[0], 0.0)


gymnasium.register(id="goodqueue/Cc-v0", entry_point=CcEnv)
gymnasium.register(id="goodqueue/Aqm-v0", entry_point=AqmEnv)
