"""Reading of large files by two processes (docs/decisions/0013).

`dispatch` shares lines out, each of the two processes runs `reader`, and they exchange `messages`.

Python reads on one core, and reading takes most of the time of a large import. On a busy machine with two cores, four
imports in turn of 300,000 MQM judgments took 1.2 times as long with one process (.8 to 1.6): they reached .12 to .27 of
the speed of COPY instead of .19 to .32. Imports promise .13, which one process missed once. Python's processor time is
the same.
"""
