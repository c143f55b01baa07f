"""StateFactory (Shen et al. 2026): factorised states as rewards, and RewardPrediction, which scores such rewards."""
