/// The format of an error response's body.
enum AnswerForm: Sendable, Equatable {
    /// The JSON envelope of CONTRACT §2.
    case envelope
    /// Problem details (RFC 9457).
    case problem
    /// An event stream with one `error` event, for clients that read a stream whatever its status.
    case eventStream

    /// The preferred format of an `Accept` header; the envelope when it has none of them.
    init(accept: String?) {
        let forms = WeightedValues.parse(accept?.lowercased()).lazy.compactMap { type -> AnswerForm? in
            switch type {
            case "text/event-stream": .eventStream
            case "application/problem+json": .problem
            default: nil
            }
        }
        self = forms.first ?? .envelope
    }
}
