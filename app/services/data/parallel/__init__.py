"""Reading of large files by two processes (docs/decisions/0013).

`dispatch` shares lines out, `reader` is each of the two, and `messages` go between them.

Python reads on one core, and reading is what a large import takes longest for. Four imports of 300,000 MQM judgments in
turn on a busy machine of two cores took 1.2 times as long with one process (.8 to 1.6): .12 to .27 of the speed of COPY
in place of .19 to .32. Imports promise .13, which one process missed once. Processor time of Python is the same.
"""
