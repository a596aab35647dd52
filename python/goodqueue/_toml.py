"""Dicts as TOML, a key on each line, so that an error in a line names its key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ._errors import UsageError


def text(tables: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The TOML text of a dict, and for each of its lines the path of the key in it."""
    lines: list[str] = []
    paths: list[str] = []
    _table(tables, "", "", lines, paths)
    return "\n".join(lines) + "\n", paths


def _table(table: Mapping[str, Any], head: str, path: str, lines: list[str], paths: list[str]) -> None:
    def is_tables(one: object) -> bool:
        return isinstance(one, list) and bool(one) and all(isinstance(entry, Mapping) for entry in one)

    def put(line: str, at: str) -> None:
        lines.append(line)
        paths.append(at)

    for key, one in table.items():
        if not isinstance(key, str):
            raise TypeError(f"{path or 'experiment'}: {key!r}: a key is a word")
        if not isinstance(one, Mapping) and not is_tables(one) and one is not None:
            put(f"{_key(key)} = {value(_join(path, key), one)}", _join(path, key))
    for key, one in table.items():
        name = f"{head}.{_key(key)}" if head else _key(key)
        if isinstance(one, Mapping):
            put(f"[{name}]", _join(path, key))
            _table(one, name, _join(path, key), lines, paths)
        elif is_tables(one):
            for number, entry in enumerate(one, 1):
                put(f"[[{name}]]", f"{_join(path, key)}.{number}")
                _table(entry, name, f"{_join(path, key)}.{number}", lines, paths)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key)


def _quoted(words: str) -> str:
    out = "".join(
        "\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in words
    )
    return f'"{out}"'


def value(path: str, one: object) -> str:
    """A value of a dict in TOML."""
    if isinstance(one, bool):
        return "true" if one else "false"
    if isinstance(one, str):
        return _quoted(one)
    if isinstance(one, int):
        return str(one)
    if isinstance(one, float):
        if not math.isfinite(one):
            raise UsageError(f"{path} {one}: not a number")
        return repr(one)
    if isinstance(one, (list, tuple, range)):
        return "[" + ", ".join(value(path, entry) for entry in one) + "]"
    if isinstance(one, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {value(_join(path, k), v)}" for k, v in one.items()) + " }"
    raise TypeError(f"{path} {one!r}: write text, a number, True, False, a list or a dict")
