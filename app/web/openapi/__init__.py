"""The OpenAPI document: `document` builds it; `components` and `representation_suffixes` make it short."""
