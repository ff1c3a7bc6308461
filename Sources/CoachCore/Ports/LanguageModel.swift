/// A model that can speak. `ModelProviders` implements it: routes, failover, time limits and dialects are its business.
public struct LanguageModel: Sendable {
    /// First choice of the route, for the `start` event.
    public var firstChoice: ModelName
    /// Starts a call at once and returns. News arrive in order, on one thread that must not be blocked, once for all that was received
    /// together, never empty; the last has the one `end`, also after a cancel. Then the receiver is let go.
    public var generate: @Sendable (Prompt, @escaping @Sendable (ModelNews) -> Void) -> Generation

    /// Memberwise.
    public init(
        firstChoice: ModelName, generate: @escaping @Sendable (Prompt, @escaping @Sendable (ModelNews) -> Void) -> Generation
    ) {
        self.firstChoice = firstChoice
        self.generate = generate
    }
}

/// A call in progress.
public struct Generation: Sendable {
    /// Ends the call at the provider; idempotent, any thread. `.ended(.cancelled)` follows unless it had ended already.
    public let cancel: @Sendable () -> Void

    /// Memberwise.
    public init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// A provider and its model, as `deploy/models.json` names them.
public struct ModelName: Hashable, Sendable {
    public var provider: String
    public var model: String

    /// Memberwise.
    public init(provider: String, model: String) {
        self.provider = provider
        self.model = model
    }
}

/// What a model call tells at one time: who accepted it, then a piece of the answer, then its count, then its end. What is absent was not told.
///
/// It is told once a token, so it holds no buffer of its own: nothing is allocated for it, and nothing is counted.
public struct ModelNews {
    /// A provider began to answer; from now on the call may be billed. Comes again when another provider takes over, which
    /// happens only before the first text.
    public var acceptedBy: ModelName?
    /// A piece of the answer: whole UTF-8 characters, or nothing. Lent: it is gone when the receiver returns.
    public var text: UnsafeBufferPointer<UInt8>
    /// Tokens so far as the provider counts them; a later one replaces an earlier one.
    public var usage: TokenUsage?
    /// The end; nothing follows.
    public var end: ModelEnd?

    /// Memberwise; nothing told by default.
    public init(
        acceptedBy: ModelName? = nil, text: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0),
        usage: TokenUsage? = nil, end: ModelEnd? = nil
    ) {
        self.acceptedBy = acceptedBy
        self.text = text
        self.usage = usage
        self.end = end
    }
}

/// How a model call ended.
public enum ModelEnd: Sendable, Equatable {
    /// The model ended by itself.
    case stop
    /// The token limit was reached.
    case length
    /// The provider's own filter ended it.
    case filtered
    /// `Generation.cancel` was called.
    case cancelled
    /// No provider could answer, or the one that spoke failed.
    case failed(ModelFault)
}

/// Why a model call failed.
public struct ModelFault: Error, Sendable, Equatable {
    /// What kind of failure.
    public enum Kind: String, Sendable {
        /// Connection refused, TLS or DNS failure, HTTP error.
        case refused
        /// No first token within the limits.
        case noFirstToken = "no_first_token"
        /// Silence between tokens.
        case stalled
        /// The connection broke or the stream ended without its end mark.
        case cut
        /// An error frame inside the stream.
        case errorFrame = "error_frame"
        /// The whole turn took too long.
        case timeLimit = "time_limit"
        /// The answer outgrew its bound.
        case tooLong = "too_long"
    }
    public var kind: Kind
    /// For the log: provider, status, provider's error code; never its message, which may quote the prompt.
    public var detail: String

    /// Memberwise.
    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }
}
