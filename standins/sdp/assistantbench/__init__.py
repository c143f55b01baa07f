"""Rules that read the synthetic web."""
