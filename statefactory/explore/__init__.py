"""The panel of `2_statefactory/figure4_walkthrough`."""
