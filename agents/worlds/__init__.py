"""Environments of the benchmarks for acting agents: tools and answer format in words, actions parsed from text."""
