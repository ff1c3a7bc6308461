import JSON
import Tracing

/// Spans as OTLP/JSON (opentelemetry-proto, `ExportTraceServiceRequest`): ids in hexadecimal, 64-bit integers as strings.
enum OTLPEncoding {
    static func request(_ spans: [RecordedSpan.Record], resource: SpanAttributes) -> [UInt8] {
        JSONWriter.encode { json in
            json.object { json in
                json.key("resourceSpans")
                json.array { json in
                    json.object { json in
                        json.key("resource")
                        json.object { write(resource, to: &$0) }
                        json.key("scopeSpans")
                        json.array { json in
                            json.object { json in
                                json.key("scope")
                                json.object { $0.member("name", "coach-gateway") }
                                json.key("spans")
                                json.array { json in for span in spans { write(span, to: &json) } }
                            }
                        }
                    }
                }
            }
        }
    }

    private static func write(_ span: RecordedSpan.Record, to json: inout JSONWriter) {
        json.object { json in
            json.member("traceId", span.trace.traceID.text)
            json.member("spanId", Hexadecimal.encode(span.trace.spanID))
            if let parent = span.parent { json.member("parentSpanId", Hexadecimal.encode(parent)) }
            if let state = span.trace.state { json.member("traceState", state) }
            json.member("name", span.name)
            json.member("kind", kind(span.kind))
            json.member("startTimeUnixNano", "\(span.startedAt)")
            json.member("endTimeUnixNano", "\(span.endedAt)")
            write(span.attributes, to: &json)
            if !span.events.isEmpty {
                json.key("events")
                json.array { json in
                    for event in span.events {
                        json.object { json in
                            json.member("timeUnixNano", "\(event.nanosecondsSinceEpoch)")
                            json.member("name", event.name)
                            write(event.attributes, to: &json)
                        }
                    }
                }
            }
            if let status = span.status {
                json.key("status")
                json.object { json in
                    json.key("code")
                    json.integer(status.code == .ok ? 1 : 2)
                    if let message = status.message { json.member("message", message) }
                }
            }
        }
    }

    private static func write(_ attributes: SpanAttributes, to json: inout JSONWriter) {
        guard !attributes.isEmpty else { return }
        json.key("attributes")
        json.beginArray()
        attributes.forEach { name, value in
            json.object { json in
                json.member("key", name)
                json.key("value")
                json.object { write(value.toSpanAttribute(), to: &$0) }
            }
        }
        json.endArray()
    }

    /// One member of `AnyValue`.
    private static func write(_ value: SpanAttribute, to json: inout JSONWriter) {
        switch value {
        case .int32(let number): json.member("intValue", "\(number)")
        case .int64(let number): json.member("intValue", "\(number)")
        case .bool(let bool): json.member("boolValue", bool)
        case .double(let number): json.member("doubleValue", number)
        case .string(let text): json.member("stringValue", text)
        case .stringArray(let texts):
            json.key("arrayValue")
            json.object { json in
                json.key("values")
                json.array { json in for text in texts { json.object { $0.member("stringValue", text) } } }
            }
        case .stringConvertible(let convertible): json.member("stringValue", "\(convertible)")
        default: json.member("stringValue", "\(value)")
        }
    }

    /// `Span.SpanKind` of the protocol.
    private static func kind(_ kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
