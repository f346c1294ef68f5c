"""The OpenAPI document: `document` builds it; `shared` and `suffixes` make it short."""
