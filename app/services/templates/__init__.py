"""Templates of campaigns, and the guidelines that come with them."""
