"""The demonstration: a study with simulated labels, a finished sweep and its report, content of our own."""
