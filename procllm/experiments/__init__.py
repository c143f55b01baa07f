"""What the notebooks of `3_procllm/` run and show: one module a table or figure, over one that plays episodes."""
