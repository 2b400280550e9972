"""Forms of the admin for endpoints, judges, prompts and sweeps, and what pages of theirs have in common."""
