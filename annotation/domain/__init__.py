"""Values and rules of annotation, without Django: what a label may say, its shown order, how a test is
graded.
"""
