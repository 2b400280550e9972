"""Judges as files of other tools."""
