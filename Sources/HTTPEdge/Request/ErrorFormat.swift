/// The format of an error response's body.
enum ErrorFormat: Sendable, Equatable {
    /// The JSON envelope of CONTRACT §2.
    case envelope
    /// Problem details (RFC 9457).
    case problem
    /// An event stream with one `error` event, for clients that read a stream whatever its status.
    case eventStream
    /// The error object of OpenAI's protocol (CONTRACT §7).
    case openAI

    /// The format of a path's errors: OpenAI's below `/v1/`; else an event stream when the `Accept` header names it, because a client that reads event
    /// streams reads nothing else; else problem details when the header names them; else an envelope.
    init(accept: String?, path: String?) {
        self = path?.isPath(below: "v1") == true ? .openAI : ErrorFormat(accept: accept)
    }

    private init(accept: String?) {
        let formats = WeightedValues.parse(accept?.lowercased()).lazy.compactMap { type -> ErrorFormat? in
            switch type {
            case "text/event-stream": .eventStream
            case "application/problem+json": .problem
            default: nil
            }
        }
        self = formats.contains(.eventStream) ? .eventStream : formats.first ?? .envelope
    }
}
