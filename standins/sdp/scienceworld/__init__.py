"""An oracle that knows the gold path, and its noise."""
