"""The environments of Gymnasium: they pass its checker, repeat with the seed, and do what is decided."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import goodqueue
import goodqueue.gym

LINE = {"rate": "20mbit", "rtt": "20ms", "length": "4s", "idle": "0.5s"}


def of(kind, **given):
    return getattr(goodqueue.gym, kind)(**{**LINE, **given})


@pytest.mark.parametrize("kind", ["Cc", "Aqm"])
def test_the_checker_of_gymnasium_passes(kind):
    with warnings.catch_warnings():
        # What there is to see has no bound, and the actions have their own scale: nothing else is to be said.
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*maximum value is infinity")
        warnings.filterwarnings("ignore", message=".*normalized space")
        warnings.filterwarnings("ignore", message=".*not within the observation space.*", append=True)
        env = gymnasium.make(f"goodqueue/{kind}-v0", **LINE)
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("kind", ["CcEnv", "AqmEnv"])
def test_an_episode_repeats_with_its_seed(kind):
    def episode(seed):
        env = of(kind)
        env.action_space.seed(1)
        seen = [env.reset(seed=seed)[0]]
        is_over = False
        while not is_over:
            one, reward, terminated, is_over, info = env.step(env.action_space.sample())
            assert not terminated and np.isfinite(reward) and env.observation_space.contains(one)
            seen.append(one)
        with pytest.raises(RuntimeError, match="the episode is over"):
            env.step(env.action_space.sample())
        assert info["time_s"] >= 4.5
        return np.array(seen)

    first = episode(1)
    # A decision a round trip, from the connection to the end of the load.
    assert 195 <= len(first) <= 201
    assert np.array_equal(first, episode(1)) and not np.array_equal(first, episode(2))


def run(env, action, steps=100):
    env.reset(seed=1)
    for _ in range(steps):
        _, _, _, _, info = env.step(action)
    return info


def test_a_window_gives_its_rate_and_its_delay():
    """20 Mbit/s and 20 ms are 33 segments in flight."""
    info = run(of("CcEnv"), [10])
    assert info["cwnd"] == 10 and info["in_flight"] <= 10
    # Nine or ten of ten in 20 ms: a round trip is a little longer.
    assert round(info["rate_mbit"] * 1e6 * 0.020 / (1448 * 8)) in (9, 10)
    info = run(of("CcEnv"), [100])
    assert info["rate_mbit"] > 18 and 55 < info["rtt_ms"] < 70 and 20 <= info["min_rtt_ms"] < 23
    info = run(of("CcEnv", queues="pfifo:20"), [100])
    assert info["loss"] > 0
    env = of("CcEnv", pacing=True)
    env.reset(seed=1)
    infos = [env.step([100, 5])[4] for _ in range(150)][50:]
    assert 4.7 < np.mean([info["rate_mbit"] for info in infos]) < 5.1
    assert max(info["rtt_ms"] for info in infos) < 23


def test_a_decision_holds_from_the_next_interval_on():
    env = of("CcEnv", interval="5ms")
    assert env.interval_ms == 5
    env.reset(seed=1)
    for cwnd in (10, 50, 3):
        _, _, _, _, info = env.step([cwnd])
        assert info["cwnd"] == cwnd
    # Without an ACK, too: the timer wakes it.
    assert env.step([60])[4]["in_flight"] > 3


def test_a_probability_drops_and_marks():
    info = run(of("AqmEnv"), [0.0], steps=150)
    assert info["dropped"] == info["marked"] == 0 and info["sojourn_ms"] > 50 and info["packets"] > 100
    assert info["rate_mbit"] > 19 and info["bytes"] > 1000 * info["packets"]
    info = run(of("AqmEnv"), [0.02], steps=150)
    assert info["sojourn_ms"] < 20
    env = of("AqmEnv", ecn=True)
    env.reset(seed=1)
    seen = [env.step([0.1])[4] for _ in range(100)]
    assert max(info["marked"] for info in seen) > 0.05 and max(info["packets"] for info in seen) < 100
    assert of("AqmEnv", direction="down", test="tcp_ndown").reset(seed=1)[1]["time_s"] == 0.5
    assert run(of("AqmEnv", limit=10), [0.0])["packets"] <= 10


def test_it_stands_beside_others_and_in_experiments():
    experiment = goodqueue.Experiment(
        queues=["fq_codel"],
        link={"rate": "20mbit"},
        test={"length": "4s"},
        flow=[{"to": "server", "cc": "cubic"}],
    )
    assert goodqueue.gym.AqmEnv(experiment).reset(seed=1)[1]["time_s"] > 0
    with pytest.raises(goodqueue.UsageError, match="no flow has the agent"):
        goodqueue.gym.CcEnv(experiment)
    ours = experiment.set("flow.1.cc", goodqueue.gym.AGENT)
    alone = run(goodqueue.gym.CcEnv(ours), [200])
    assert alone["cwnd"] == 200 and alone["rate_mbit"] > 18
    flows = [{"to": "server", "cc": cc} for cc in (goodqueue.gym.AGENT, "cubic")]
    both = goodqueue.Experiment(
        queues=["fq_codel"], link={"rate": "20mbit"}, test={"length": "4s"}, flow=flows
    )
    assert run(goodqueue.gym.CcEnv(both), [200])["rate_mbit"] < 12
    with pytest.raises(goodqueue.UsageError, match="a run has none"):
        ours.run()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: of("CcEnv", cc="cubic"), goodqueue.UsageError, "no flow has the agent"),
        (lambda: of("CcEnv", test="tcp_nup"), goodqueue.UsageError, "the agent has several flows"),
        (lambda: of("CcEnv", rates="5mbit"), TypeError, "rates: no argument"),
        (lambda: of("CcEnv", rate="20mbits"), goodqueue.UsageError, "rate 20mbits"),
        (lambda: of("CcEnv", interval="0ms"), goodqueue.UsageError, "interval"),
        (lambda: of("CcEnv", interval="5"), goodqueue.UsageError, "interval"),
        (lambda: of("CcEnv", most_window=0), goodqueue.UsageError, "most_window 0"),
        (lambda: of("CcEnv", most_mbit=-1), goodqueue.UsageError, "most_mbit -1"),
        (lambda: of("CcEnv", reward=1), TypeError, "reward 1: a function"),
        (lambda: of("AqmEnv", direction="left"), goodqueue.UsageError, "direction 'left'"),
        (lambda: of("AqmEnv", limit=0), goodqueue.UsageError, "limit 0"),
        (lambda: run(of("CcEnv"), [np.nan]), ValueError, "window NaN"),
        (lambda: run(of("CcEnv"), [0]), ValueError, "window 0"),
        (lambda: run(of("CcEnv"), [10, 5]), goodqueue.UsageError, "as many numbers as"),
        (lambda: run(of("CcEnv", pacing=True), [10, -5]), ValueError, "pacing rate -5"),
        (lambda: run(of("AqmEnv"), [1.5]), ValueError, "probability 1.5: from 0 to 1"),
        (lambda: run(of("AqmEnv"), ["much"]), ValueError, "could not convert"),
        (lambda: of("CcEnv").step([10]), RuntimeError, "call reset"),
    ],
)
def test_what_is_wrong_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
