import CoachCore
import GatewayAPI
import Hummingbird
import NIOCore
import Synchronization

/// What a request carries through the edge besides itself.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection: its end tells that the client is gone.
    let channel: any Channel
    /// In every log line and in `meta.request_id`.
    var requestID: String
    /// When the head arrived.
    let arrivedAt: ContinuousClock.Instant

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        requestID = ""
        arrivedAt = .now
    }
}

/// The shape of answer that the client can read.
enum AnswerForm: Sendable, Equatable {
    /// The envelope of CONTRACT §2.
    case envelope
    /// RFC 9457.
    case problem
    /// One `error` event: the app's stream reader never looks at the status.
    case eventStream

    /// By the `Accept` header: the more wanted one; an envelope when neither is named.
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
