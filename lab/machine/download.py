"""Resumable downloads of large files over HTTP."""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import BinaryIO

Report = Callable[[str], None]

CHUNK = 1 << 18
SECONDS_WITHOUT_DATA = 60.0
SHOWN_FROM = 20e6  # bytes; a smaller file arrives before its progress would be read
LINES = 10  # of progress


class DownloadFailed(OSError):
    """A download failed after all its tries; the message names the address and what to do."""


def download(
    url: str,
    target: Path,
    report: Report,
    tries: int = 5,
    pause: float = 2.0,
    patience: float = SECONDS_WITHOUT_DATA,
) -> None:
    """Fetch `url` into `target`, resuming where an earlier try or call stopped.

    The bytes gather in `target` + ".part", which becomes `target` once it has the length that the server states. Beside
    it stands which version of the file they are of: one that changed at its source is fetched from its start.
    tries: connections without any progress before giving up; pause: seconds between them; patience: seconds without
    data before a connection counts as broken. Progress of a large file is reported. Raises DownloadFailed.
    """
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    left = tries
    while left:
        had = size_of(part)
        try:
            if transfer(url, part, report, patience):
                os.replace(part, target)
                version_of(part).unlink(missing_ok=True)
                return
            problem: Exception = EOFError(f"the connection ended after {size_of(part):,} bytes")
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):  # a time-out and a rate limit pass; others do not
                raise DownloadFailed(f"{url} answers {error.code} {error.reason}; did the address move?") from error
            problem = error
        except (OSError, http.client.HTTPException) as error:
            problem = error
        # Progress resets the count: on a line that breaks every few seconds a large file still arrives.
        left = tries if size_of(part) > had else left - 1
        report(f"{target.name}: {problem}; going on from {size_of(part):,} bytes")
        time.sleep(pause if left else 0)
    raise DownloadFailed(
        f"{url} could not be fetched after {tries} tries; check the connection and run the same "
        f"command again, it goes on from {size_of(part):,} bytes"
    )


def fetch_once(url: str, target: Path, report: Report) -> None:
    """`download`, unless the file is here. The error also says how to bring it by hand. Raises DownloadFailed."""
    if target.exists():
        report(f"{target.name} is already here")
        return
    report(f"downloading {target.name} from {url}")
    try:
        download(url, target, report)
    except DownloadFailed as error:
        raise DownloadFailed(f"{error}; or download {url} in a browser and save it as {target}") from error


def transfer(url: str, part: Path, report: Report, patience: float) -> bool:
    """Append what one connection brings to `part`; True if the file is complete after it."""
    start, version = size_of(part), version_of(part)
    # Without a version nothing says that the rest is of the same file.
    known = version.read_text(encoding="latin-1") if start and version.exists() else ""
    headers = {"Range": f"bytes={start}-", "If-Range": known} if known else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=patience)
    except urllib.error.HTTPError as error:
        if error.code == 416 and error.headers.get("Content-Range", "").endswith(f"/{start}"):
            return True  # every byte was already here
        if error.code == 416:
            part.unlink(missing_ok=True)  # longer than the file now is: it changed at its source, so start over
            return False
        raise
    with response:
        # A server without ranges sends 200 and the file from its start, and so does one whose file has changed.
        resumed = response.status == 206
        done = start if resumed else 0
        length = response.headers.get("Content-Length")
        total = None if length is None else int(length) + done
        with open(part, "ab" if resumed else "wb") as file:
            if not resumed:
                version.write_text(stated_version(response.headers), encoding="latin-1")
            copy(response, file, done, total or 0, report)
    # Checked here, since urllib takes a connection that closes early for the end of the file.
    return total is None or size_of(part) == total


def stated_version(headers: Message) -> str:
    """What `If-Range` takes for this file: its ETag unless it is weak, else its date; "" if neither is there."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified", "")


def version_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def copy(source: BinaryIO, target: BinaryIO, done: int, total: int, report: Report) -> None:
    """Append `source` to `target`; done and total, in bytes, are for the lines of progress."""
    said = done
    while chunk := source.read(CHUNK):
        target.write(chunk)
        done += len(chunk)
        if total > SHOWN_FROM and done - said > total / LINES:
            report(f"  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
            said = done


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
