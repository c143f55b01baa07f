"""Resumable downloads over HTTP, of which no web page and no half file is kept."""

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
SHOWN_FROM = 20e6  # bytes; a smaller file arrives before its progress would be read
LINES = 10  # of progress
PASSING = (408, 429)  # statuses below 500 after which another try can succeed: a time-out, a rate limit


class DownloadFailed(OSError):
    """A download failed after all its tries; the message names the address and what to do."""


def download(
    url: str, target: Path, report: Report, tries: int = 5, pause: float = 2.0, patience: float = SECONDS_WITHOUT_DATA
) -> None:
    """Fetch `url` into `target`, resuming where an earlier try or call stopped.

    The bytes gather in `target` + ".part", which becomes `target` once it has the length that the server states. That
    it is the right file is for the caller to check.
    tries: connections without any progress before giving up; pause: seconds between them; patience: seconds without
    data before a connection counts as broken. Progress of a large file is reported. Raises DownloadFailed.
    """
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    left = tries
    while left:
        before = size_of(part)
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
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: of a redirection to no address
            problem = error
        # Progress resets the count: on a line that breaks every few seconds a large file still arrives.
        left = tries if size_of(part) > before else left - 1
        report(f"{target.name}: {problem}; going on from {size_of(part):,} bytes")
        time.sleep(pause if left else 0)
    raise DownloadFailed(
        f"{url} could not be fetched after {tries} tries (at last: {problem}); check the connection and run the "
        f"same command again, it goes on from {size_of(part):,} bytes"
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


def size_of(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def _transfer(url: str, part: Path, report: Report, patience: float) -> bool:
    """Append what one connection brings to `part`; True if the file is complete after it. Raises DownloadFailed."""
    done = size_of(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        response = urllib.request.urlopen(request, timeout=patience)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        if error.headers.get("Content-Range", "").endswith(f"/{done}"):
            return True  # every byte was already here
        part.unlink()  # longer than the file now is: it changed at its source, so start over
        return False
    with response:
        span = response.headers.get("Content-Range", "")
        resumed = done > 0 and response.status == 206 and span.startswith(f"bytes {done}-")
        if not (resumed or response.status == 200):
            part.unlink(missing_ok=True)
            raise DownloadFailed(f"{url} answers {response.status} {response.reason}, which is no whole file")
        done = done if resumed else 0  # a server without ranges sends the file from its start
        total = done + (response.length or 0)
        chunk = response.read(CHUNK)
        # Data, models and archives never begin so; pages always do, also those of excuses and of logins.
        if not done and chunk.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise DownloadFailed(f"{url} answers with a web page, not the file; did it move, or ask for a login?")
        reported = done
        with open(part, "ab" if resumed else "wb") as file:
            while chunk:
                file.write(chunk)
                done += len(chunk)
                if total > SHOWN_FROM and done - reported > total / LINES:
                    report(f"  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
                    reported = done
                chunk = response.read(CHUNK)
    # `length` is what is still to come: urllib takes a connection that closes early for the end of the file.
    return done > 0 and not response.length
