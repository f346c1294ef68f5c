"""What all reports share: the definition of a report, finding or computing it, and its representations."""
