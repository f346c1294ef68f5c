"""Calibration: put raters, languages and campaigns on one scale by means of the items they share."""
