"""Reader of the synthetic encyclopedia: what the stand-ins of all agents know of it.

questions   a question into the chain of relations that it follows
hops        a question into sub-questions, a paragraph into what it says, findings into an answer
"""
