"""Vocabulary of the synthetic encyclopedia: invented people, places, works and firms, frozen in `data/synthetic`.

    articles     the sentence patterns of each kind of article
    relations    the values that articles name: genres, styles, days, months, services

`python -m scripts.make_synthetic` writes the articles and the questions over them; `python -m scripts.make_corpus`
writes a corpus of up to five million articles.
"""
