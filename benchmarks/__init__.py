"""Measurements for the speed table of the project, with the bounds that they are compared with."""
