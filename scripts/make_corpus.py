"""Print the articles of a synthetic encyclopedia of up to five million, as JSON lines with title and text.

    python -m scripts.make_corpus --articles 5000000 > corpus.jsonl

`worlds.multihop.indexed` makes a search over them. The first 2,000 of seed 0 are those of `data/synthetic`.
"""

from __future__ import annotations

import argparse
import json

from scripts.encyclopedia.articles import paragraphs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for article in paragraphs(options.seed, options.articles):
        print(json.dumps({"title": article.title, "text": article.text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
