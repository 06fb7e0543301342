"""The paper's experiments, each in a module or a folder of its own."""
