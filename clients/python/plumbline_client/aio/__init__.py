"""The client to be awaited. `make_sync.py` makes `plumbline_client/sync` of these modules."""
