"""One statement per result table."""
