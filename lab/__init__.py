"""What any experiment on language agents needs: models, prompts, caches, runs, statistics, tables, plots, notebooks.

Knows no world and no paper. Import the part you use (`from lab import runs`); heavy libraries load where they are used.
"""
