"""What reports read: a campaign at a data version, recipes, ratings and what stands against them."""
