"""Write the synthetic data of `data/synthetic` again: the encyclopedia, its questions, the web, and the trips.

python -m scripts.make_synthetic                 # the committed files
python -m scripts.make_synthetic --check         # exit with 1 if they are not what this script writes
python -m scripts.make_synthetic --faults 4      # also a web with four faulty pages beside each list
python -m scripts.make_synthetic --seed 1 --questions 500    # other articles, and more questions, in their place
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from lab.machine.files import write_atomically
from lab.machine.reading import read_whole
from scripts.encyclopedia.articles import paragraphs
from scripts.encyclopedia.questions import MIXES, SPLITS, questions
from scripts.travelplanner import files as travelplanner
from scripts.web import questions as web_questions
from scripts.web.site import ARTICLES, Site
from worlds.frozen import FOLDER

Rows = Iterable[dict[str, Any]]
FAULTS = (0, 2, 6)  # faulty pages beside each list of the committed webs


def files(seed: int, count: int, faults: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; those that are named .gz are to be packed."""
    articles = paragraphs(seed, ARTICLES)
    yield "encyclopedia/articles.jsonl.gz", lines({"title": each.title, "text": each.text} for each in articles)
    for style in MIXES:
        yield f"encyclopedia/{style}.jsonl", lines(multihop_rows(style, seed, count))
    for number in faults:
        yield f"web/{number}_faulty.jsonl.gz", lines(web_rows(Site(seed, ARTICLES, number)))
    yield "web/questions.jsonl", lines(question_rows(Site(seed, ARTICLES), count))
    yield from travelplanner.files(seed)


def multihop_rows(style: Any, seed: int, count: int) -> Rows:
    for split in SPLITS:
        for question in questions(seed, count, split, style, ARTICLES):
            yield {
                "id": question.id,
                "split": split,
                "template": question.template,
                "question": question.question,
                "answer": question.answer,
                "aliases": question.aliases,
                "hops": [(hop.question, hop.answer, hop.paragraph) for hop in question.decomposition],
                "gold": question.gold,
                "paragraphs": [paragraph.number for paragraph in question.paragraphs],
            }


def web_rows(site: Site) -> Rows:
    """The pages by title, since those that are alike then pack well; position: in the search index."""
    pages = enumerate(site.resources.values())
    for position, page in sorted(pages, key=lambda pair: (pair[1].title, pair[1].url)):
        yield {name: value for name, value in asdict(page).items() if value or name == "text"} | {"position": position}


def question_rows(site: Site, count: int) -> Rows:
    for split in SPLITS:
        for question in web_questions.questions(site, count, split):
            yield {
                "id": question.id,
                "split": split,
                "template": question.template,
                "question": question.question,
                "meaning": question.meaning,
                "answer": question.answer,
                "evidence": question.evidence,
            }


def lines(rows: Rows) -> bytes:
    texts = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{text}\n" for text in texts).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=int, default=100, help="in each split (default: 100)")
    parser.add_argument("--faults", type=int, nargs="*", default=[], help="faulty pages a list, of further webs")
    options = parser.parse_args()
    made = files(options.seed, options.questions, sorted({*FAULTS, *options.faults}))
    if options.check:
        different = [name for name, content in made if read_whole(FOLDER / name) != content]
        raise SystemExit(f"not as this script writes them: {', '.join(different)}" if different else 0)
    for name, content in made:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)
        print(path)


if __name__ == "__main__":
    main()
