"""What answers offline in a model's place: rules, noise and oracles. It imports every package; none imports it.

Each module registers itself by an entry point (`lab.models.rules`). With this package uninstalled, models,
recordings and null models answer as before.
"""
