"""The dashboard in a real Chromium."""
