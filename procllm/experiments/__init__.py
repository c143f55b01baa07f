"""The experiments of the notebooks in `3_procllm/`: episodes, networks that a model makes, and Figure A.1."""
