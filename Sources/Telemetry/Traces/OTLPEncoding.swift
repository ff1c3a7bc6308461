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
                                json.object { json in
                                    json.key("name")
                                    json.string("coach-gateway")
                                }
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
            field("traceId", span.trace.traceID.text, &json)
            field("spanId", Hexadecimal.encode(span.trace.spanID), &json)
            if let parent = span.parent { field("parentSpanId", Hexadecimal.encode(parent), &json) }
            if let state = span.trace.state { field("traceState", state, &json) }
            field("name", span.name, &json)
            json.key("kind")
            json.integer(kind(span.kind))
            field("startTimeUnixNano", "\(span.startedAt)", &json)
            field("endTimeUnixNano", "\(span.endedAt)", &json)
            write(span.attributes, to: &json)
            if !span.events.isEmpty {
                json.key("events")
                json.array { json in
                    for event in span.events {
                        json.object { json in
                            field("timeUnixNano", "\(event.nanosecondsSinceEpoch)", &json)
                            field("name", event.name, &json)
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
                    if let message = status.message { field("message", message, &json) }
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
                field("key", name, &json)
                json.key("value")
                json.object { write(value.toSpanAttribute(), to: &$0) }
            }
        }
        json.endArray()
    }

    /// One member of `AnyValue`.
    private static func write(_ value: SpanAttribute, to json: inout JSONWriter) {
        switch value {
        case .int32(let number): field("intValue", "\(number)", &json)
        case .int64(let number): field("intValue", "\(number)", &json)
        case .bool(let bool):
            json.key("boolValue")
            json.bool(bool)
        case .double(let number):
            json.key("doubleValue")
            json.number(number)
        case .string(let text): field("stringValue", text, &json)
        case .stringArray(let texts):
            json.key("arrayValue")
            json.object { json in
                json.key("values")
                json.array { json in for text in texts { json.object { field("stringValue", text, &$0) } } }
            }
        case .stringConvertible(let convertible): field("stringValue", "\(convertible)", &json)
        default: field("stringValue", "\(value)", &json)
        }
    }

    private static func field(_ name: String, _ text: String, _ json: inout JSONWriter) {
        json.key(name)
        json.string(text)
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
