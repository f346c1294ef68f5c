"""The client that answers when the server has answered. Made by `make_sync.py`."""
