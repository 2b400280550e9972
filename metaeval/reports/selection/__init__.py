"""The choice of a judge as people read it: its inputs, report (typed, and as JSON), words, tables, files."""
