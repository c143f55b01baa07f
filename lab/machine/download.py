"""Resumable downloads of large files over HTTP, and what is never taken for one: a web page, a part, a bomb."""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import BinaryIO

Report = Callable[[str], None]

CHUNK = 1 << 18
SECONDS_WITHOUT_DATA = 60.0
SHOWN_FROM = 20e6  # bytes; a smaller file arrives before its progress would be read
LINES = 10  # of progress
MOST = 8 << 30  # bytes of one download; the largest model has a quarter of it
UNPACKED = 4 << 30  # bytes that the files of a zip archive may come to; TravelPlanner's have a tenth of it
PART_OF = re.compile(r"bytes (\d+)-\d+/(\d+)")  # Content-Range


class DownloadFailed(OSError):
    """A download failed after all its tries; the message names the address and what to do."""


class NotTheFile(DownloadFailed):
    """The server answers, but not with the file. Another try would bring the same."""


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
    What is no such file, as its first byte or its suffix tells (.csv, .json, .pddl, .zip), is not kept.
    tries: connections without any progress before giving up; pause: seconds between them; patience: seconds without
    data before a connection counts as broken. Progress of a large file is reported. Raises DownloadFailed, NotTheFile.
    """
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    left = tries
    while left:
        had = size_of(part)
        try:
            if transfer(url, part, report, patience):
                if fault := fault_of(part, target.suffix):
                    discard(part)
                    raise NotTheFile(f"{url} brought {fault}; it is not kept. Try again later")
                os.replace(part, target)
                version_of(part).unlink(missing_ok=True)
                return
            problem: Exception = EOFError(f"the connection ended after {size_of(part):,} bytes")
        except NotTheFile:
            raise
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):  # a time-out and a rate limit pass; others do not
                raise DownloadFailed(f"{url} answers {error.code} {error.reason}; did the address move?") from error
            problem = error
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: of a redirection to no address
            problem = error
        # Progress resets the count: on a line that breaks every few seconds a large file still arrives.
        left = tries if size_of(part) > had else left - 1
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


def transfer(url: str, part: Path, report: Report, patience: float) -> bool:
    """Append what one connection brings to `part`; True if the file is complete after it. Raises NotTheFile."""
    start, version = size_of(part), version_of(part)
    # Without a version nothing says that the rest is of the same file.
    known = version.read_text(encoding="latin-1") if start and version.exists() else ""
    if not known.isprintable():  # a torn file, and no header
        known = ""
    headers = {"Range": f"bytes={start}-", "If-Range": known} if known else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=patience)
    except urllib.error.HTTPError as error:
        if error.code == 416 and error.headers.get("Content-Range", "").endswith(f"/{start}"):
            return True  # every byte was already here
        if error.code == 416:
            discard(part)  # longer than the file now is: it changed at its source, so start over
            return False
        raise
    with response:
        try:
            done, total = extent(response)
        except NotTheFile:
            discard(part)  # the next call asks for all of it
            raise
        # A server without ranges sends 200 and the file from its start, and so does one whose file has changed.
        if done and (done != start or stated_version(response.headers) not in ("", known)):
            discard(part)
            return False
        first = response.read(CHUNK)
        if not done and (page := fault_of_start(first, response.headers) or ("" if first or total else "nothing")):
            raise NotTheFile(f"{url} answers with {page}, not the file; did the address move, or ask for a login?")
        with open(part, "ab" if done else "wb") as file:
            if not done:
                version.write_text(stated_version(response.headers), encoding="latin-1")
            try:
                copy(first, response, file, done, total or 0, report)
            except NotTheFile as error:
                discard(part)
                raise NotTheFile(f"{url} {error}") from None
    # Checked here, since urllib takes a connection that closes early for the end of the file.
    return total is None or size_of(part) == total


def extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Where in the file the answer's bytes begin, and the whole file's length if it is stated. Raises NotTheFile."""
    part_of = PART_OF.fullmatch(response.headers.get("Content-Range", ""))
    if response.status == 206 and part_of:  # this part alone, whether it was asked for or not
        return int(part_of[1]), int(part_of[2])
    if response.status != 200:
        raise NotTheFile(
            f"{response.url} answers {response.status} {response.reason}, which is no whole file. Try again later"
        )
    return 0, response.length  # not the header's text, which need not be a number


def fault_of_start(first: bytes, headers: Message) -> str:
    """What an answer is, if by its beginning it is not a file that anybody here asks for."""
    encoding = headers.get("Content-Encoding", "identity")
    if encoding.lower() not in ("", "identity"):
        return f"bytes encoded as {encoding}, which nobody asked for"
    # Data, models and archives never begin so; pages always do, also those of excuses and of logins.
    return "a web page" if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else ""


def fault_of(file: Path, suffix: str) -> str:
    """What is wrong with a whole download, "" if it is what its suffix says."""
    try:
        if suffix in (".csv", ".json", ".pddl"):
            text = file.read_bytes().decode("utf-8")
            if "\0" in text:
                return f"no {suffix} file (it has NUL bytes)"
            if suffix == ".json":
                json.loads(text)
        if suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                if sum(member.file_size for member in archive.infolist()) > UNPACKED:
                    return f"a zip archive that unpacks to more than {UNPACKED:,} bytes"
                if damaged := archive.testzip():
                    return f"a zip archive whose {damaged} is damaged"
    # Of zipfile: NotImplementedError and RuntimeError for ways of packing and passwords that it does not know.
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        return f"no {suffix} file ({error})"
    return ""


def discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    version_of(part).unlink(missing_ok=True)


def stated_version(headers: Message) -> str:
    """What `If-Range` takes for this file: its ETag unless it is weak, else its date; "" if neither is there."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified", "")


def version_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def copy(first: bytes, source: BinaryIO, target: BinaryIO, done: int, total: int, report: Report) -> None:
    """Append `first` and the rest of `source` to `target`; done and total, in bytes, are for the lines of progress.

    Raises NotTheFile for more bytes than any file here has.
    """
    said = done
    chunk = first
    while chunk:
        target.write(chunk)
        done += len(chunk)
        if max(done, total) > MOST:
            raise NotTheFile(
                f"goes on for more than {MOST:,} bytes, which no file here has; it is not kept. Try again later"
            )
        if total > SHOWN_FROM and done - said > total / LINES:
            report(f"  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
            said = done
        chunk = source.read(CHUNK)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
