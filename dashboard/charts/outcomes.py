"""Colour and pattern of each outcome of an attempt: answers cool, failures warm, what was not sent grey."""

from dashboard.charts.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, YELLOW

OUTCOMES = {
    "bid": (BLUE, ""),
    "no_bid": (SKY, ""),
    "answered_unknown": (SKY, "."),
    "timeout": (ORANGE, ""),
    "server_error": (RED, ""),
    "rate_limited": (PURPLE, ""),
    "connect_error": (YELLOW, ""),
    "tls_error": (YELLOW, "/"),
    "reset": (ORANGE, "/"),
    "client_error": (RED, "/"),
    "invalid_response": (PURPLE, "/"),
    "unexpected_status": (RED, "x"),
    "unknown_error": (PURPLE, "x"),
    "cancelled": (GREEN, "/"),
    "not_sent_breaker": (GREY, ""),
    "not_sent_limit": (GREY, "/"),
}
"""From the axis upwards."""
