/// Port to the language models. `ModelProviders` implements it, with routes, failover, time limits and dialects.
public struct LanguageModel: Sendable {
    /// First choice of the route, reported in the `start` event.
    public var firstChoice: ModelName
    /// Receives the updates of a call. It must not block.
    public typealias Receiver = @Sendable (ModelUpdate) -> ReleaseState

    /// Called before each request of a call except the first, on the thread of the updates. It must not block.
    ///
    /// It calls `proceed` soon and once, from any thread. With `true` the request leaves, unless the call has ended or asked another choice meanwhile. With
    /// `false` the call ends without the request, because a request to the next choice would wait just as long.
    public typealias BeforeRequest = @Sendable (_ proceed: @escaping @Sendable (_ mayLeave: Bool) -> Void) -> Void

    /// Starts a call and returns without waiting. Calls the receiver in order, on one thread, with one non-empty update for all data received
    /// together. The last update has the only `end`, also after a cancel; then the receiver is released.
    public var generate: @Sendable (Prompt, BeforeRequest?, @escaping Receiver) -> Generation

    public init(
        firstChoice: ModelName, generate: @escaping @Sendable (Prompt, BeforeRequest?, @escaping Receiver) -> Generation
    ) {
        self.firstChoice = firstChoice
        self.generate = generate
    }
}

extension LanguageModel {
    /// The same port, whose calls fail at once without a request.
    public var silenced: LanguageModel {
        LanguageModel(firstChoice: firstChoice) { _, _, emit in
            _ = emit(ModelUpdate(end: .failed(ModelFault(kind: .refused, detail: "no model call is left"))))
            return Generation {}
        }
    }
}

/// Chooses the models of a turn: those that the tier allows, from the first of these routes that has such models: the persona's, the domain's, the tier's,
/// the default one.
public struct TierModels: Sendable {
    /// The time limit of a turn's call of a model, all attempts included.
    public var callLimit: Duration
    public var model: @Sendable (Tier, Domain?, PersonaID?) -> LanguageModel

    public init(callLimit: Duration, model: @escaping @Sendable (Tier, Domain?, PersonaID?) -> LanguageModel) {
        self.callLimit = callLimit
        self.model = model
    }

    /// How long a turn may take beside its call: a judge's call before it, and the attempts to save its end.
    private static let timeBesideCall = Duration.seconds(20)

    /// The longest time from the start of a turn to its end.
    public var longestTurn: Duration { callLimit + Self.timeBesideCall }
}

/// Which part of a call's text the receiver has released so far.
public struct ReleaseState: Sendable, Equatable {
    /// Whether some text was released, so that no other provider may begin the answer again.
    public var isReleased: Bool
    /// Whether some text is held back. It is to be released after a second of silence: see `ModelUpdate.isSilent`.
    public var isHeld: Bool

    public init(isReleased: Bool, isHeld: Bool = false) {
        self.isReleased = isReleased
        self.isHeld = isHeld
    }
}

/// A call in progress.
public struct Generation: Sendable {
    /// Cancels the call at the provider. Idempotent, from any thread. An update with the end `.cancelled` follows, unless the call ended
    /// before.
    public let cancel: @Sendable () -> Void

    public init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// Names of a provider and of its model, as in `deploy/models.json`.
public struct ModelName: Hashable, Sendable {
    public var provider: String
    public var model: String

    public init(provider: String, model: String) {
        self.provider = provider
        self.model = model
    }
}

/// A request of a model call whose answer is not used: it failed, or another provider was faster. It has a row of its own in the ledger.
public struct UnusedCall: Sendable, Equatable {
    public var name: ModelName
    /// Whether the provider accepted the request, and so may bill it.
    public var isAccepted: Bool
    /// As reported by the provider.
    public var usage: TokenUsage
    /// UTF-8 bytes of the text that it has sent.
    public var textBytes: Int
    /// UTF-8 bytes of the reasoning that it has sent.
    public var reasoningBytes: Int

    public init(name: ModelName, isAccepted: Bool, usage: TokenUsage = TokenUsage(), textBytes: Int = 0, reasoningBytes: Int = 0) {
        self.name = name
        self.isAccepted = isAccepted
        self.usage = usage
        self.textBytes = textBytes
        self.reasoningBytes = reasoningBytes
    }
}

/// One update of a model call. Handle its fields in order: unused calls, acceptance, text, usage, reasoning, end. Absent fields are unchanged.
///
/// There is one per token, so it borrows its buffer: creating one allocates nothing and retains nothing.
public struct ModelUpdate {
    /// Requests that were found to be unused since the last update; nil when there are none. The call's last request is among them in two cases: no provider
    /// has accepted it and there were others before, or its provider refused it after `acceptedBy` was reported.
    public var unusedCalls: [UnusedCall]?
    /// The provider that has accepted the call and may bill it. Reported again when another provider takes over, which is possible only while no text was
    /// released, and perhaps of the same one before its first text. The text, usage and reasoning that were reported before do not count then.
    public var acceptedBy: ModelName?
    /// The next part of the answer: whole UTF-8 characters; may be empty. Valid only until the receiver returns.
    public var text: UnsafeBufferPointer<UInt8>
    /// Whether no text has come for a second, so that text that is held back is to be released.
    public var isSilent: Bool
    /// The provider's usage so far; replaces earlier values.
    public var usage: TokenUsage?
    /// UTF-8 bytes of reasoning that the provider has sent so far, none of which is in `text`; replaces earlier values.
    public var reasoningBytes: Int?
    /// The end of the call; the last update.
    public var end: ModelEnd?

    public init(
        unusedCalls: [UnusedCall]? = nil, acceptedBy: ModelName? = nil,
        text: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0), isSilent: Bool = false, usage: TokenUsage? = nil,
        reasoningBytes: Int? = nil, end: ModelEnd? = nil
    ) {
        self.unusedCalls = unusedCalls
        self.acceptedBy = acceptedBy
        self.text = text
        self.isSilent = isSilent
        self.usage = usage
        self.reasoningBytes = reasoningBytes
        self.end = end
    }
}

/// How a model call ended.
public enum ModelEnd: Sendable, Equatable {
    /// The model ended normally.
    case stop
    /// The model reached the token limit.
    case length
    /// The provider's content filter ended the answer.
    case filtered
    /// The model ended for a reason that its dialect does not know.
    case unknown
    /// `Generation.cancel` was called.
    case cancelled
    /// No provider answered, or the answering one failed.
    case failed(ModelFault)

    /// Whether the answer was cut.
    public var isFault: Bool {
        switch self {
        case .stop, .length, .filtered, .unknown: false
        case .cancelled, .failed: true
        }
    }
}

/// Why a model call failed.
public struct ModelFault: Error, Sendable, Equatable {
    public enum Kind: String, Sendable {
        /// Connection refused, TLS or DNS failure, HTTP error.
        case refused
        /// No first token within the time limits.
        case noFirstToken = "no_first_token"
        /// Too long without a token after the first.
        case stalled
        /// The connection broke, or the stream ended without its end mark.
        case cut
        /// An error frame inside the stream.
        case errorFrame = "error_frame"
        /// The whole turn exceeded its time limit.
        case timeLimit = "time_limit"
        /// The answer exceeded its size limit.
        case tooLong = "too_long"
    }
    public var kind: Kind
    /// For the log: provider, HTTP status, error code. Never the provider's message, which may quote the prompt.
    public var detail: String
    /// The shortest of the pauses that the providers have named before the next request, in whole seconds; nil when one of them has named none.
    public var retryAfter: Int?

    public init(kind: Kind, detail: String, retryAfter: Int? = nil) {
        self.kind = kind
        self.detail = detail
        self.retryAfter = retryAfter
    }
}
