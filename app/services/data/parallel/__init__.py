"""Reading of large files by two processes (docs/decisions/0013).

`dispatch` shares lines out, `reader` is each of the two, and `messages` go between them.

Python reads on one core, and reading is what a large import takes longest for. One process imports 300,000 MQM
judgments at .12 to .15 of the speed of COPY, two at .19; imports promise .13. Processor time is the same.
"""
