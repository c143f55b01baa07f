"""What the notebooks of `4_explore/` are made of: controls, buttons, panels of claims and ablations; it knows no paper.

The panels on rewards and on task networks are in `statefactory.explore` and `procllm.explore`.
"""
