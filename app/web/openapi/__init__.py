"""The OpenAPI document: `document` builds it; `components` and `suffixes` make it short."""
