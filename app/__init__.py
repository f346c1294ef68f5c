"""Plumbline: human evaluation of machine translation, from design to defended ranking."""
