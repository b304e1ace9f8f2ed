"""Statements that only the pages and reports use."""
