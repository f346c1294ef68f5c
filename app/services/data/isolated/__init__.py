"""Reading of uploads in a process of their own, so that no file holds up a process that answers.

See docs/decisions/0026. `reading` is what an import calls, `reader` the other process, and `messages` go between.
"""
