"""Judges as files of other tools: an annotator, a scorer, an assertion, a grader.

`targets` lists what there is, `writing.target_export` writes one. Pure: a judge goes in, texts of files come out.
"""
