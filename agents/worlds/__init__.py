"""The worlds as environments of agents, an adapter each: tools and answer format in words, actions read from text."""
