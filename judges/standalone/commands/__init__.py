"""The subcommands of `touchstone`, each in a module of its own that is imported when it is asked for."""
