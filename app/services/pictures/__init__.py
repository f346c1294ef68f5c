"""Pictures of reports as SVG: matplotlib draws them, on first use and not before."""

from app.services.pictures.forest import forest_plot

__all__ = ["forest_plot"]
