"""Preference data of the learned reward models: pairs from each world's training side, as Parquet (Appendix C.2.1)."""
