"""Rules that answer ProcLLM's prompts offline. They are hand-written functions of a prompt's fields."""
