"""What is timed, and against what: the speed table of the project, run by `python -m benchmarks.run`."""
