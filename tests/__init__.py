"""The specification as tests: given these lines, that table."""
