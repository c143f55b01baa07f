"""Rules, noise and an oracle for the prompts of SDP's operators."""
