"""Learned reward models."""
