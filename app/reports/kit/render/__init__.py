"""Representations of reports: CSV, LaTeX, Markdown, Parquet."""
