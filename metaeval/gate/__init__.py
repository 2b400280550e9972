"""May a judge be trusted? `touchstone gate`, its pytest plugin, and the Python behind both. No Django, no database."""
