"""The panel of `4_explore/networks`."""
