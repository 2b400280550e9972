"""Pages of sweeps, judges and judgments for whoever may read their datasets. Administration is in the admin."""
