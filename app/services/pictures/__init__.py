"""Pictures of reports as SVG: matplotlib draws them, on first use and not before."""
