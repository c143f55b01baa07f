"""The offline stand-in for a model: rules that read the five worlds' text. A reader of the method need not open it.

They answer Modules A, B and C (`statefactory.prompts`) for `engine="rules"`, from the fields that a model is shown: no
world is opened, and no score, plan or simulator state is known to them.

    answers      rules for the three modules, at every level of representation, and how they go wrong
    languages    the protocol of a world's language, and which one a task is worded in
    forms        sentence forms as YAML beside each language: patterns and the facts that they state
    alfworld, blocksworld, scienceworld, textworld, webshop
                 one language each: templated sentences to entities, tasks to goal states
    fidelity     F1 of the facts that the rules read, against the simulator's state or a hand-checked sample

Numbers got with them measure the routing and the benchmark, and no model's skill in extraction.
"""
