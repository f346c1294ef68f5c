"""Inputs of reports: a campaign at a data version, recipes, ratings, and exclusions and locks in force."""
