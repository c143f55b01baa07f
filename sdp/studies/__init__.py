"""The paper's tables of methods side by side, each declared as a study (`lab.runs.study`)."""
