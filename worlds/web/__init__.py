"""A synthetic web on loopback, from a seed: pages to search and to scrape, some of them faulty, and questions.

    with LocalWeb(Site(seed=0)) as web:
        for hit in web.search("museums opened in the 1990s"):
            print(hit.title, hit.url, web.scrape(hit.url).error)

`Serper` does the same on the web at large, for those with a key. What may be wrong with a page is told in `faults`.

    protocol    the two verbs, search and scrape, and what they bring
    tables      list pages: which entities of `worlds.encyclopedia`, and which columns
    content     what articles and list pages say
    markup      HTML
    faults      pages that cannot be read, or mislead
    site        all pages of a seed, and the search over them
    server      the pages over HTTP, with a search and a scrape in the shape of Serper's
    fetching    pages from allowed hosts alone, bounded in size and time
    reading     HTML as Markdown
    local       the synthetic web as a `Web`
    serper      the web at large as a `Web`
    templates   question templates in two sets, writing.yaml for writing rules and reporting.yaml for reporting
    rows        rows under conditions, and what is asked of those that are left
    questions   questions with their answers, steps and evidence
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
    "WebQuestion": "worlds.web.questions",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
