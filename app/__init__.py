"""Plumbline: human evaluation of machine translation, from the design to a ranking you can defend."""
