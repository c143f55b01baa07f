"""ProcLLM: a hierarchical task network decides what a language model works on and what it must verify.

`network` holds task networks, `loop` the planning-and-acting loop over a `workspace` of files, `domains` the four
domains, `generation` networks that a model makes, `rules` what answers offline, `experiments` the tables and figures.
Source: Hsiao, Roberts and Smith 2025, "Procedural Knowledge Improves Agentic LLM Workflows".
"""
