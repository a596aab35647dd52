"""`python3 -m goodqueue sweep FILE.toml -o DIR`: what `goodqueue sweep --dask` calls."""

from __future__ import annotations

import argparse
import json
import sys
import time

from ._errors import MachineError, UsageError
from ._sweep import limits_kept, sweep


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m goodqueue")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sweep", help="run a sweep, on a cluster or here")
    command.add_argument("file", help="an experiment file with a table [sweep]")
    command.add_argument("-o", "--output", help="folder or URL of the results")
    command.add_argument("--dask", help="address of a Dask scheduler: tcp://scheduler:8786")
    command.add_argument("--threads", type=int, default=0, help="runs at a time without a scheduler")
    command.add_argument("--fail-if", action="append", default=[], help="a limit: 'rise_p95 > 30ms'")
    command.add_argument("--json", action="store_true", help="print the findings as JSON")
    command.add_argument("--quiet", action="store_true", help="no progress")
    asked = parser.parse_args()
    since = said = time.monotonic()

    def progress(share: float) -> None:
        nonlocal said
        now = time.monotonic()
        if not asked.quiet and share > 0 and now - said > 5:
            said = now
            left = (1 - share) / share * (now - since)
            print(f"goodqueue: {share:.0%} done, {left:.0f} s left", file=sys.stderr)

    try:
        result = sweep(
            asked.file,
            directory=asked.output,
            client=asked.dask,
            threads=asked.threads,
            progress=progress,
        )
        lines = limits_kept(result, asked.fail_if)
    except UsageError as error:
        print(f"goodqueue: {error}", file=sys.stderr)
        return 2
    except MachineError as error:
        print(f"goodqueue: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("goodqueue: interrupted; what was run until then is kept", file=sys.stderr)
        return 130
    for warning in result.warnings:
        print(f"goodqueue: warning: {warning}", file=sys.stderr)
    print(json.dumps(result.findings, indent=2) if asked.json else result)
    for line in lines:
        print(f"goodqueue: {line}", file=sys.stderr)
    return 1 if lines or result.findings["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
