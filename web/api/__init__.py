"""What the REST API's resources share and no app owns: problems, pages of lists, filters, limits, the schema."""
