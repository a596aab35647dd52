"""Goodqueue: queueing delay (bufferbloat) in simulations that are repeatable to the byte.

    import goodqueue

    result = goodqueue.run("rrul", rate="20mbit", queues=["pfifo:1000", "fq_codel", "cake"], seeds=5)
    print(result)                     # the table of the command
    result.plot("cdf")                # matplotlib
    result.summary.to_pandas()        # a row for each queue and seed
    result.series.to_polars()         # every value: delay, goodput, backlog
    result.save("out")                # page, pictures, CSV, Parquet, flent's files

run           a test over a link, once for each queue; help(goodqueue.run) has every argument
Experiment    an experiment file: any network, from TOML, from a dict, or key by key
read          a record of an earlier run, or one of flent's files
Topology      a network of many hosts, also from a NetworkX graph, with flows between any two
Queue         a queue, packet by packet and on your clock; Packet: what it queues
sweep         an experiment many times while its keys vary, here or on a cluster; help(goodqueue.sweep)
check_queue, check_cc   whether a queue, or a congestion control, obeys the rules
read_vectors  what queues of the Linux kernel decided, call by call
queues, tests, lines   tables of what is available
UsageError, MachineError   what can go wrong; both are goodqueue.Error

Your own class with the methods enqueue(now, packet) and dequeue(now) is also a queue, and one with
ack(now, ack, window) and event(now, event, window) is a congestion control. Times there are whole
nanoseconds; everywhere else a name ends with its unit (rise_p95_ms, goodput_up_bps).

goodqueue.gym has Gymnasium environments, for learning algorithms.
"""

from . import plot
from ._check import CcCheck, Check, check_cc, check_queue
from ._errors import Error, MachineError, UsageError
from ._experiment import Experiment, run
from ._goodqueue import CcAck, CcWindow, Packet, Queue, Table, __version__, lines, queues, tests
from ._result import Result, Vectors, read, read_vectors
from ._sweep import SweepResult, sweep
from ._topology import Topology

__all__ = [
    "CcAck",
    "CcCheck",
    "CcWindow",
    "Check",
    "Error",
    "Experiment",
    "MachineError",
    "Packet",
    "Queue",
    "Result",
    "SweepResult",
    "Table",
    "Topology",
    "UsageError",
    "Vectors",
    "__version__",
    "check_cc",
    "check_queue",
    "lines",
    "plot",
    "queues",
    "read",
    "read_vectors",
    "run",
    "sweep",
    "tests",
]
