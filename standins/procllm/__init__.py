"""What answers ProcLLM's prompts offline: hand-written functions of what a prompt holds."""
