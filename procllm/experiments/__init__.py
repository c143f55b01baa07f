"""What the notebooks of `3_procllm/` play, episodes and networks that a model makes; and Figure A.1."""
