"""StateFactory's tables as studies: benchmarks × conditions, declared once (see `lab.runs.study`)."""
