"""Success with the networks that a model makes (§6, appendix E). `procllm.experiments.llm_networks` makes them."""

from __future__ import annotations

from procllm.studies.conditions import HUMAN, LLM, LLM_PAPER, NONE, PLACEBO, TITLES, declared

STUDY = declared("procllm-llm-networks", list(TITLES.values()), (HUMAN, LLM_PAPER, LLM, PLACEBO, NONE))
