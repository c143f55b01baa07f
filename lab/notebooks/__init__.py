"""Running notebooks as experiments: checked parameters, one process each, outputs that a re-run repeats."""
