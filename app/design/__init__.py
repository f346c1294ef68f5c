"""Who judges what: the seeded design compiler, and the assignment code shared by campaigns and simulated studies."""
