"""Learned reward models, the paper's supervised baseline: a language model with LoRA and a score head (§3.1.1, C.2).

    pairs          training pairs of each domain, none of which is a task of the benchmark
    recipe         hyperparameters; the presets "paper" and "two-cores"
    backbones      language models by name, folder or hub address
    training       LoRA with peft and trl, checkpointed and resumable
    trainer        our change to trl: the loss of Eq. 13 over whole trajectories or all prefixes, with centring
    scoring        trajectories as tokens, all prefixes in one forward pass; rewards in [0, 1]
    adapters       trained adapters as float16 safetensors with a card
    predictor      adapters as predictors, with goal-blind and goal-swapped controls
    ridge          ridge regression on frozen sentence embeddings, the control to beat
    evaluation     EPIC distances of predictors, with paired intervals

From the shell: python -m statefactory.reward_models --help. Heavy libraries are imported only when needed.
"""
