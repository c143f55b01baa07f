"""Rules that read the five worlds' texts offline, in a model's place. A reader of the method can skip them.

They answer Modules A, B and C (`statefactory.prompts`) for `engine="rules"`, from the fields that a model is shown.
They open no world, and know no score, plan or simulator state.

    answers      rules for the three modules, at every level of representation, and their noise
    languages    the protocol of a world's language, and which language a task is worded in
    forms        sentence forms as YAML beside each language: patterns and the facts that they state
    alfworld, blocksworld, scienceworld, textworld, webshop
                 one language each: templated sentences to entities, tasks to goal states
    fidelity     F1 of the facts that the rules read, against the simulator's state or a hand-checked sample

Numbers obtained with them measure the routing and the benchmark, not a model's skill in extraction.
"""
