"""The experiments and analyses behind the notebooks of `2_statefactory`, one module per table or question."""
