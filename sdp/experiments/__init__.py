"""What the notebooks of `1_sdp/` run and show: one module a table or figure, over one module that runs a benchmark."""
