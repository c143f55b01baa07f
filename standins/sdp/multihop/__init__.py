"""Rules that read the synthetic encyclopedia, and floors for labelled steps."""
