"""The paper's experiments, a module or a folder each."""
