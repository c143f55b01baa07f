"""What the papers compare their methods with: agents for any world, each in a file of its own.

direct              the answer in one call
chain_of_thought    one call that reasons before it answers
"""
