"""Where the results of a sweep go: a folder, or whatever fsspec knows by its URL."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from ._errors import MachineError, UsageError


class Place(Protocol):
    """A folder of files, each of which is there whole or not at all."""

    url: str

    def names(self, folder: str) -> list[str]:
        """The names of the Parquet files in a folder of it, in order."""

    def get(self, name: str) -> bytes:
        """The content of a file."""

    def put(self, name: str, content: bytes) -> None:
        """Writes a file; raises MachineError if it cannot."""

    def fill(self, name: str, write: Callable[[str], object]) -> None:
        """Writes a file that `write` makes under another name; raises MachineError if it cannot."""


def open_place(directory: str | os.PathLike[str]) -> Place:
    """The place of a path or URL."""
    url = os.fspath(directory)
    return Remote(url) if "://" in url else Local(url)


class Local:
    """A folder. Its files are written under another name, flushed to the disk, and renamed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._path = pathlib.Path(url)
        if self._path.exists() and not self._path.is_dir():
            raise UsageError(f"directory {url}: it is a file; name a folder")
        is_new = not self._path.exists()
        if not is_new and not (self._path / "parts").is_dir():
            if any(not entry.name.startswith(".") for entry in self._path.iterdir()):
                words = "it has other files; name a new folder, or that of an earlier sweep"
                raise UsageError(f"directory {url}: {words}")
        if is_new and not self._path.absolute().parent.is_dir():
            raise UsageError(f"directory {url}: the folder above it does not exist: make it first")
        try:
            (self._path / "parts").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(f"directory {url}: {error.strerror}") from None

    def names(self, folder: str) -> list[str]:
        found = (self._path / folder).glob("*.parquet")
        return sorted(path.name for path in found if not path.name.startswith("."))

    def get(self, name: str) -> bytes:
        return (self._path / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        def write(part: str) -> None:
            with open(part, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())

        self.fill(name, write)

    def fill(self, name: str, write: Callable[[str], object]) -> None:
        path = self._path / name
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            write(os.fspath(part))
            os.replace(part, path)
        except (OSError, MachineError) as error:
            with contextlib.suppress(OSError):
                part.unlink()
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise MachineError(f"{path}: {why}") from None


class Remote:
    """An object store or another file system of fsspec's. An object appears when all of it is there."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            words = f"directory {url}: a URL needs fsspec: pip install fsspec, or goodqueue[dask]"
            raise MachineError(words) from None
        self.url = url.rstrip("/")
        fs: Any
        try:
            fs, self._root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"directory {url}: {error}") from None
        self._fs = fs

    def names(self, folder: str) -> list[str]:
        try:
            found = self._fs.ls(f"{self._root}/{folder}", detail=False, refresh=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except TypeError:
            found = self._fs.ls(f"{self._root}/{folder}", detail=False)
        names = (path.rsplit("/", 1)[-1] for path in found)
        return sorted(name for name in names if name.endswith(".parquet") and not name.startswith("."))

    def get(self, name: str) -> bytes:
        content: bytes = self._fs.cat_file(f"{self._root}/{name}")
        return content

    def put(self, name: str, content: bytes) -> None:
        try:
            self._fs.makedirs(f"{self._root}/{name}".rsplit("/", 1)[0], exist_ok=True)
            self._fs.pipe_file(f"{self._root}/{name}", content)
        except OSError as error:
            raise MachineError(f"{self.url}/{name}: {error}") from None

    def fill(self, name: str, write: Callable[[str], object]) -> None:
        with tempfile.TemporaryDirectory(prefix="goodqueue-") as folder:
            part = os.path.join(folder, "part")
            write(part)
            try:
                self._fs.makedirs(f"{self._root}/{name}".rsplit("/", 1)[0], exist_ok=True)
                self._fs.put_file(part, f"{self._root}/{name}")
            except OSError as error:
                raise MachineError(f"{self.url}/{name}: {error}") from None
