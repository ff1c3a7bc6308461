"""An OpenTelemetry collector for tests: decodes OTLP/JSON with the protocol's own messages and prints each span as a line of JSON.

Prints its port first. The protobuf package reads bytes as base64, OTLP/JSON has ids in hexadecimal: those are checked and converted.
"""

import base64
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

LENGTHS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def with_bytes(value):
    """The same tree with its ids in base64."""
    if isinstance(value, list):
        return [with_bytes(element) for element in value]
    if not isinstance(value, dict):
        return value
    converted = {}
    for name, member in value.items():
        if name in LENGTHS:
            assert re.fullmatch("[0-9a-f]{%d}" % LENGTHS[name], member), f"{name}: {member}"
            member = base64.b64encode(bytes.fromhex(member)).decode()
        converted[name] = with_bytes(member)
    return converted


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/json"
        request = json_format.Parse(json.dumps(with_bytes(json.loads(body))), ExportTraceServiceRequest())
        for resource in request.resource_spans:
            service = {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"]
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                attributes = {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}
                line = {
                    "service": service, "name": span.name, "kind": span.kind, "trace": span.trace_id.hex(), "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(), "start": span.start_time_unix_nano, "end": span.end_time_unix_nano,
                    "error": span.status.code == 2, "key": self.headers.get("X-Key", ""),
                    "attributes": {key: str(value) for key, value in attributes.items()},
                }
                print(json.dumps(line), flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
sys.stdout.flush()
server.serve_forever()
