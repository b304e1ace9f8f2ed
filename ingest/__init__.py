"""The write side: log files in, a published snapshot out."""

__version__ = "0.1.0"
