"""Rules for the agents' prompts on synthetic questions and trips, and the oracle that knows a world's expert."""
