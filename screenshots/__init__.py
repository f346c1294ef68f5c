"""The pictures of README and documents, made anew from the demo: `make screenshots`."""
