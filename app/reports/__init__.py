"""Reports, the layer between storage and services: one module per report, the shared `kit`, and `inputs` of reports."""
