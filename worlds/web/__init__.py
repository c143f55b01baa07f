"""A synthetic web: pages to search and to scrape, some of them faulty.

    web = Site()
    for hit in web.search("museums opened in the 1990s"):
        print(hit.title, hit.url, web.scrape(hit.url).error)

`Serper` does the same on the real web; it needs a key.

    protocol    the two verbs, search and scrape, and their results
    tables      list pages: the topics and columns of their tables
    site        the pages, including those that cannot be read or mislead
    reading     HTML to Markdown
    serper      the real web
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
