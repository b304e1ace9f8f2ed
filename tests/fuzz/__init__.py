"""Hostile lines by mutation of good ones, the tests' own reading of them, and a load that must agree with it."""
