"""Resumable downloads over HTTP, which never store a web page or an incomplete file as the result."""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

Report = Callable[[str], None]

CHUNK = 1 << 18
SECONDS_WITHOUT_DATA = 60.0
SHOWN_FROM = 20e6  # bytes; smaller files report no progress
LINES = 10  # of progress per file
PASSING = (408, 429)  # statuses below 500 after which a retry can succeed: a timeout, a rate limit


class DownloadFailed(OSError):
    """A download failed after all its tries; the message names the address and what to do."""


def download(
    url: str, target: Path, report: Report, tries: int = 5, pause: float = 2.0, patience: float = SECONDS_WITHOUT_DATA
) -> None:
    """Download `url` to `target`, resuming where an earlier try or call stopped.

    Bytes are appended to `target` + ".part", which is renamed to `target` once it has the length that the server
    states. The caller has to check that it is the right file.
    tries: connections without any progress before giving up; pause: seconds between them; patience: seconds without
    data before a connection counts as broken. Progress of a large file is reported. Raises DownloadFailed.
    """
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    tries_left = tries
    while tries_left:
        size_before = size_of(part)
        problem: Exception | str = "the connection ended early"
        try:
            if _transfer(url, part, report, patience):
                os.replace(part, target)
                return
        except DownloadFailed:
            raise
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in PASSING:
                raise DownloadFailed(f"{url} answers {error.code} {error.reason}; did the address move?") from error
            problem = error
        except (
            OSError,
            http.client.HTTPException,
            ValueError,
        ) as error:  # ValueError: redirected to an invalid address
            problem = error
        # Progress resets the count, so a large file arrives even if the connection breaks every few seconds.
        tries_left = tries if size_of(part) > size_before else tries_left - 1
        report(f"{target.name}: {problem}; going on from {size_of(part):,} bytes")
        time.sleep(pause if tries_left else 0)
    raise DownloadFailed(
        f"{url} could not be fetched after {tries} tries (at last: {problem}); check the connection and run the "
        f"same command again, it goes on from {size_of(part):,} bytes"
    )


def fetch_once(url: str, target: Path, report: Report) -> None:
    """`download`, unless the file exists. Raises DownloadFailed, which also says how to download it by hand."""
    if target.exists():
        report(f"{target.name} is already here")
        return
    report(f"downloading {target.name} from {url}")
    try:
        download(url, target, report)
    except DownloadFailed as error:
        raise DownloadFailed(f"{error}; or download {url} in a browser and save it as {target}") from error


def size_of(path: Path) -> int:
    """Bytes of a file, 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def _transfer(url: str, part: Path, report: Report, patience: float) -> bool:
    """Append the data of one connection to `part`; True if the file is then complete. Raises DownloadFailed."""
    received = size_of(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={received}-"} if received else {})
    try:
        response = urllib.request.urlopen(request, timeout=patience)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        if error.headers.get("Content-Range", "").endswith(f"/{received}"):
            return True  # all bytes are already here
        part.unlink()  # longer than the file is now: it changed at its source, so start over
        return False
    with response:
        span = response.headers.get("Content-Range", "")
        resumed = received > 0 and response.status == 206 and span.startswith(f"bytes {received}-")
        if not (resumed or response.status == 200):
            part.unlink(missing_ok=True)
            raise DownloadFailed(f"{url} answers {response.status} {response.reason}, which is no whole file")
        received = received if resumed else 0  # a server without range support sends the file from its start
        total = received + (response.length or 0)
        chunk = response.read(CHUNK)
        # Data, models and archives never begin with <; web pages always do, also error and login pages.
        if not received and chunk.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise DownloadFailed(f"{url} answers with a web page, not the file; did it move, or ask for a login?")
        reported = received
        with open(part, "ab" if resumed else "wb") as file:
            while chunk:
                file.write(chunk)
                received += len(chunk)
                if total > SHOWN_FROM and received - reported > total / LINES:
                    report(f"  {received / 1e6:,.0f} of {total / 1e6:,.0f} MB")
                    reported = received
                chunk = response.read(CHUNK)
    # `length` is what is still missing: urllib treats a connection that closes early as the end of the file.
    return received > 0 and not response.length
