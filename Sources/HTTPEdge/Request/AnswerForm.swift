/// The form of an error's body.
enum AnswerForm: Sendable, Equatable {
    /// The envelope of CONTRACT §2.
    case envelope
    /// RFC 9457.
    case problem
    /// One `error` event, for stream readers that ignore the status.
    case eventStream

    /// The preferred form of an `Accept` header; an envelope when it names none.
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
