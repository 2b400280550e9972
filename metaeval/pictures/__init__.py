"""Pictures of results: what is drawn, in which colors, and how it becomes a file. Knows no Django and no report."""
