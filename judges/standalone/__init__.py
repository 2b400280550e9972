"""Judges without a site: the command `touchstone` and the class `judges.Judge`, with no database and no Django.

The engine, the strategies and the backends are those of the site. What is different is where items come from (a file,
a call), and where requests and verdicts are kept (a file, memory).
"""
