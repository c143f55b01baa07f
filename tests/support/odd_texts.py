"""Texts that are hard to draw: markup, control characters, missing glyphs, far too long."""

ODD = (
    "$x_1$ and $5",
    "_",
    "a\nb",
    "\x1b[2J\x07",
    "🎉 中文",
    "\ud83d",
    "x" * 300,
    "W" * 90,
    "b " * 400,
    "$\\frac$",
    " ",
)
