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
    /// streams reads nothing else; else problem details when the header names them and does not prefer `application/json`; else an envelope.
    init(accept: String?, path: String?) {
        self = path?.isPath(below: "v1") == true ? .openAI : ErrorFormat(accept: accept)
    }

    private init(accept: String?) {
        let weights = Dictionary(
            WeightedValues.weighted(accept?.lowercased()).map { ($0.value, $0.weight) }, uniquingKeysWith: { max($0, $1) })
        if weights["text/event-stream"] != nil {
            self = .eventStream
        } else if let problem = weights["application/problem+json"], problem >= weights["application/json", default: 0] {
            self = .problem
        } else {
            self = .envelope
        }
    }
}
