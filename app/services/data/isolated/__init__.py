"""Reading of uploads in a separate process, so that no file delays a process that answers requests.

See docs/decisions/0026. An import calls `dispatch`, `reader` is the other process, and they exchange `messages`.
"""
