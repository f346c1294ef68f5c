"""Pearmut's own pages on this store: their HTTP interface, under a separate origin."""
