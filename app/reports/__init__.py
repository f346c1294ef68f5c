"""Reports, between storage and use cases: one module each, their mechanism (`kit`) and what they read (`inputs`)."""
