"""Offline stand-ins for a model: rules, noise and oracles. This package imports every other one; none imports it.

Each module registers itself by an entry point (`lab.models.rules`). With this package uninstalled, models,
recordings and null models answer as before.
"""
