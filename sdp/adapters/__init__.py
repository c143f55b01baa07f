"""One adapter a benchmark: what fills the operators of `sdp.operators`."""
