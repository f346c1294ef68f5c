"""Charts as SVG, drawn by matplotlib, which is loaded when it is first used."""
