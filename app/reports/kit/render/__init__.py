"""Representations: CSV, LaTeX, Markdown, Parquet."""
