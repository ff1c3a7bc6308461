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

    /// The format of a path's errors: OpenAI's below `/v1/`; else an event stream when the `Accept` header names it and the path may answer with one,
    /// because a client that reads event streams reads nothing else, or when the header names no other format; else problem details when the header
    /// names them and does not prefer `application/json`; else an envelope.
    init(accept: String?, path: String?) {
        self = path?.isPath(below: "v1") == true ? .openAI : ErrorFormat(accept: accept, mayStreamEvents: path?.mayStreamEvents ?? false)
    }

    private init(accept: String?, mayStreamEvents: Bool) {
        let weights = Dictionary(
            WeightedValues.weighted(accept?.lowercased()).map { ($0.value, $0.weight) }, uniquingKeysWith: { max($0, $1) })
        let acceptsOthers = ["application/json", "application/problem+json", "application/*", "*/*"].contains { weights[$0] != nil }
        if weights[RouteResponse.eventStream] != nil, mayStreamEvents || !acceptsOthers {
            self = .eventStream
        } else if let problem = weights["application/problem+json"], problem >= weights["application/json", default: 0] {
            self = .problem
        } else {
            self = .envelope
        }
    }
}
