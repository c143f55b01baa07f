"""StateFactory: text observations factorised into objects and attributes; reward as similarity to the goal state.

RewardPrediction, the benchmark that scores such rewards step by step, is here too. Read the method in this order:

    state          states and goals as typed values, at four levels of representation           (Eq. 5)
    prompts        Modules A, B and C: the three questions to a model at every step             (Tables 9, 10)
    extraction     the recurrence: one state and one goal per step, each from the one before    (Eq. 4, 6)
    routing        how much of a goal a state fulfils; `similarity` computes it on arrays       (Eq. 7 to 12)
    predictors     reward predictors: the method, LLM-as-a-Judge, the monotonic baseline        (§3.1, C.1, C.3)
    epic           EPIC distance to the ground truth; `gleave` is the definition it simplifies  (Eq. 3)

Around it:

    benchmark      RewardPrediction: how its pairs are built, read and fetched                  (§2, Appendix A)
    embeddings     sentence embeddings of any model, cached
    truncation     what is cut when a prompt exceeds the context length
    trust          flags of rewards that may mean nothing: unread text, empty or copied states, cut text
    walkthrough    one trajectory step by step: which object fulfilled which part of the goal   (Table 17)
    plots, experiments, studies
                   the figures and the tables

A first try, offline:

    from numpy import concatenate
    from lab import connect
    from statefactory import StateFactory, build, epic_distance

    pair = build("blocksworld", "synthetic", limit=1).pairs()[0]
    method = StateFactory(connect("rules"))  # or Judge(connect(...)), or Monotonic()
    predicted = [method.predict(row.goal_description, row.actions, row.observations) for row in pair.rows]
    print(epic_distance(concatenate(predicted), pair.shaped))

`dir(statefactory)` lists the names that most users need.
Source: Shen et al. 2026, "Reward Prediction with Factorized World States".
"""

from lab.lazy import front_door

PLACES = {
    "Entity": "statefactory.state",
    "Judge": "statefactory.predictors.judge",
    "Monotonic": "statefactory.predictors.baselines",
    "Pair": "statefactory.benchmark.schema",
    "Predictor": "statefactory.predictors",
    "Row": "statefactory.benchmark.schema",
    "State": "statefactory.state",
    "StateFactory": "statefactory.predictors.factored",
    "Trace": "statefactory.extraction",
    "build": "statefactory.benchmark.build",
    "build_all": "statefactory.benchmark.build",
    "distances_in": "statefactory.experiments.own",
    "entity": "statefactory.state",
    "epic_distance": "statefactory.epic",
    "epic_distances": "statefactory.epic",
    "extract": "statefactory.extraction",
    "open_embedder": "statefactory.embeddings",
    "read_pairs": "statefactory.benchmark.schema",
    "read_published": "statefactory.benchmark.published",
    "rewards": "statefactory.routing",
    "walk": "statefactory.walkthrough",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
