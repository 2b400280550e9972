"""What `make check` and `make sbom` run beside other projects' tools; no part of the distribution's packages."""
