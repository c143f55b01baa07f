"""Widgets for the notebooks of `4_explore/`: controls, buttons, comparisons, panels of claims and ablations.


It knows no paper. The panels on rewards and on task networks are in `statefactory.explore` and `procllm.explore`.
"""
