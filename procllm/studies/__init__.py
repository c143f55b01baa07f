"""ProcLLM's tables and figures as studies, and what else the notebooks read off their episodes."""
