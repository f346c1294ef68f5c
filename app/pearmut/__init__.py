"""Pearmut's own pages on this store: their HTTP interface, under an origin of its own."""
