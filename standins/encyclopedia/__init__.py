"""Reader of the synthetic encyclopedia, used by the stand-ins of all agents.

questions   from a question to the chain of relations that it follows
hops        from a question to sub-questions, from a paragraph to its facts, from findings to an answer
"""
