"""A synthetic web: pages to search and to scrape, some of them faulty.

    web = Site()
    for hit in web.search("museums opened in the 1990s"):
        print(hit.title, hit.url, web.scrape(hit.url).error)

`Serper` does the same on the web at large, for those with a key.

    protocol    the two verbs, search and scrape, and what they bring
    tables      list pages: what their tables are about, and their columns
    site        the pages, those that cannot be read or mislead among them
    reading     HTML as Markdown
    serper      the web at large
"""

from lab.lazy import front_door

PLACES = {
    "FAULTS": "worlds.web.site",
    "Hit": "worlds.web.protocol",
    "Page": "worlds.web.protocol",
    "Serper": "worlds.web.serper",
    "Site": "worlds.web.site",
    "Web": "worlds.web.protocol",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
