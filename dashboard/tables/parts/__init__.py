"""Relations that several statements share."""
