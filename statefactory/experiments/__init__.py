"""What the notebooks of `2_statefactory` show: one module per table."""
