"""One adapter per benchmark; each implements the operators of `sdp.operators`."""
