"""The comparison of judges of rubrics, checklists, importance and rankings of answers: dataclasses in, content out."""
