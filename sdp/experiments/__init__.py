"""SDP on each benchmark as an experiment, and the experiments that are no study: Table 1, Figure 2, the audit."""
