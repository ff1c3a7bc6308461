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

    /// By the `Accept` header; the first that is named wins.
    init(accept: String?) {
        let types = (accept ?? "").lowercased()
        let stream = types.range(of: "text/event-stream")?.lowerBound
        let problem = types.range(of: "application/problem+json")?.lowerBound
        switch (stream, problem) {
        case (let stream?, let problem?): self = stream < problem ? .eventStream : .problem
        case (_?, nil): self = .eventStream
        case (nil, _?): self = .problem
        case (nil, nil): self = .envelope
        }
    }
}
