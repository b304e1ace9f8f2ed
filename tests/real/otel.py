"""An exchange that calls its partners itself, repeats what failed, and is instrumented with the OpenTelemetry SDK.

Each attempt is a client span with the attributes of the HTTP conventions; the SDK's own exporter writes OTLP JSON, one
request of spans a line, as the collector's file exporter does.
"""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, format_trace_id

TIMEOUT_S = 0.3
AGAIN_AFTER = {502, 503}


@dataclass
class Truth:
    """What the client saw: the ends of attempts by partner, the attempts of each call, the ends of calls."""

    attempts: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: dict[str, tuple[str, list[str]]] = field(default_factory=dict)


class Client:
    """Calls partners by name; `ports` stands for the name service."""

    def __init__(self, traces: Path, ports: Mapping[str, int], retries: int) -> None:
        self.truth = Truth()
        self._ports = ports
        self._retries = retries
        self._provider = TracerProvider(resource=Resource.create({"service.name": "exchange"}), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(traces)))
        self._tracer = self._provider.get_tracer("exchange.http")

    def call(self, partner: str, name: str, script: str) -> str:
        """One auction that calls one partner, again and again while that may help; gives its trace id."""
        with self._tracer.start_as_current_span("auction", kind=SpanKind.SERVER) as auction:
            trace_id = format_trace_id(auction.get_span_context().trace_id)
            ends: list[str] = []
            for attempt in range(self._retries + 1):
                with self._tracer.start_as_current_span("POST", kind=SpanKind.CLIENT) as span:
                    ends.append(self._attempt(span, partner, name, script, attempt))
                self.truth.attempts[partner, ends[-1]] += 1
                if ends[-1].isdigit() and int(ends[-1]) not in AGAIN_AFTER:
                    break
        self.truth.calls[trace_id] = partner, ends
        return trace_id

    def _attempt(self, span: Span, partner: str, name: str, script: str, attempt: int) -> str:
        """A status, or the name of the error."""
        port = self._ports[partner]
        span.set_attribute("http.request.method", "POST")
        span.set_attribute("server.address", partner)
        span.set_attribute("server.port", port)
        span.set_attribute("url.full", f"http://{partner}:{port}/bid?user=PLANTED")
        if attempt:
            span.set_attribute("http.request.resend_count", attempt)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", "/bid", b'{"id":"1"}', {"X-Call": name, "X-Script": script})
            response = connection.getresponse()
            span.set_attribute("http.response.status_code", response.status)
            response.read()
        except (OSError, http.client.HTTPException) as error:
            return _failed(span, type(error).__name__, error)
        finally:
            connection.close()
        if response.status >= 400:
            return _failed(span, str(response.status), None)
        return str(response.status)

    def flush(self) -> None:
        """Writes what has ended so far, as one line."""
        self._provider.force_flush()

    def close(self) -> None:
        """Writes the spans that still wait."""
        self._provider.shutdown()


def _failed(span: Span, kind: str, error: Exception | None) -> str:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
    if error is not None:
        span.record_exception(error)
    return kind
