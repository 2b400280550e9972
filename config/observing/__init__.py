"""How a deployment is watched: probes, metrics, logs, traces and errors. Each is off, or harmless, by default."""
