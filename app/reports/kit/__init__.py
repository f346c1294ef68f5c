"""What all reports share: what a report is, finding or computing it, and every representation."""
