"""Rules that choose by price, and their noise."""
