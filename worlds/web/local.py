"""The synthetic web, read over loopback: pages are really served, fetched and read."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any, Self

from worlds.base import WorldDied
from worlds.web.fetching import Limits, fetch
from worlds.web.protocol import HITS, Hit, Page
from worlds.web.reading import read
from worlds.web.server import SLOW, Server
from worlds.web.site import Site


class LocalWeb:
    """A `Web` over a site, with a server of its own, which starts when it is first needed, and again if it died.

    Any number of threads may use it. Addresses are the same in every process: they name the site's hosts, and the port
    stands in no address, so that prompts do not change from run to run.
    """

    def __init__(
        self, site: Site, limits: Limits | None = None, slow: float = SLOW, waits: float | None = None
    ) -> None:
        """limits: of each scrape. slow: seconds that slow pages take to come. waits: seconds after which these
        are given up, by default the limits': they come too late anyway, and a third of all episodes meets one.
        """
        self.site, self.limits, self.slow, self.waits = site, limits or Limits(), slow, waits
        self._lock = Lock()
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        """The server at work."""
        with self._lock:
            if self._server is None:
                self._server = Server(self.site, self.slow)
            return self._server

    def search(self, query: str, num: int = HITS) -> list[Hit]:
        """The best pages of the site, whether they can be read or not."""
        return self.site.search(query, num)

    def scrape(self, url: str) -> Page:
        """Fetch a page of the synthetic web, and read it. Raises WorldDied; the next call starts anew."""
        resource, limits = self.site.resources.get(url), self.limits
        if self.waits is not None and resource is not None and resource.fault == "slow":
            limits = replace(limits, seconds=self.waits)
        try:
            fetched = fetch(url, self.server.hosts, limits)
        except WorldDied:
            self.close()
            raise
        if fetched.error:
            return Page(url, fetched.address, error=fetched.error)
        title, text = read(fetched.html)
        return Page(url, fetched.address, title, text)

    def close(self) -> None:
        """Stop the server; the next search or scrape starts another."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def __getstate__(self) -> dict[str, Any]:
        """For other processes, each of which starts a server of its own."""
        return {"site": self.site, "limits": self.limits, "slow": self.slow, "waits": self.waits}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
