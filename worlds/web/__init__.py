"""A synthetic web on loopback: pages to search and to scrape, some of them faulty.

    with LocalWeb(Site()) as web:
        for hit in web.search("museums opened in the 1990s"):
            print(hit.title, hit.url, web.scrape(hit.url).error)

`Serper` does the same on the web at large, for those with a key. `faults` lists what may be wrong with a page.

    protocol    the two verbs, search and scrape, and what they bring
    tables      list pages: what their tables are about, and their columns
    faults      pages that cannot be read, or mislead
    site        all pages, and the search over them
    server      the pages over HTTP
    fetching    pages from allowed hosts alone, bounded in size and time
    reading     HTML as Markdown
    local       the synthetic web as a `Web`
    serper      the web at large as a `Web`
"""

from lab.lazy import front_door

PLACES = {
    "FAULTS": "worlds.web.faults",
    "Hit": "worlds.web.protocol",
    "Limits": "worlds.web.fetching",
    "LocalWeb": "worlds.web.local",
    "Page": "worlds.web.protocol",
    "Serper": "worlds.web.serper",
    "Server": "worlds.web.server",
    "Site": "worlds.web.site",
    "Web": "worlds.web.protocol",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
