"""Environments of the benchmarks for acting agents: tools and answer format as text, actions parsed from text."""
