"""The notebook runner: validated parameters, one process per notebook, reproducible outputs."""
