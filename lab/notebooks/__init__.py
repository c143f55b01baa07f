"""The notebook runner: validated parameters, one process a notebook, reproducible outputs."""
