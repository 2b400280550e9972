"""Pages of reports, comparisons and decisions. Views fetch, call a service and render; they compute nothing."""
