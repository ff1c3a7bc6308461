/// Determines the response to one request. Every field is optional; an empty script is a regular answer at 50 tokens/s.
///
/// In JSON the names are snake_case. An unknown field is an error, so that a misspelt fault is not mistaken for a regular answer.
public struct Script: Sendable, Equatable {
    /// The model that the script applies to; requests for other models are answered as if there were no script.
    public var model: String?

    // Text. The first of these fields that is set applies; without one the answer refers to the last user message (`CoachReply`).
    /// No text: a role and a finish reason only.
    public var empty: Bool?
    /// The exact tokens.
    public var tokens: [String]?
    /// The text, split into tokens of about four characters.
    public var text: String?
    /// This number of words of harmless text, one token each.
    public var words: Int?
    /// A text with U+2028, U+2029, U+0085, emoji with joiners, combining marks and right-to-left letters.
    public var unicode: Bool?

    /// Reasoning that is sent before the text, and is no part of it.
    public var thinking: String?
    /// Sends comments before the first token, as OpenRouter does.
    public var comments: Bool?

    // Timing.
    /// Milliseconds from the request to the first token. Default 150; for `http_error` 0.
    public var firstTokenMs: Double?
    /// Milliseconds between two tokens. Default 20.
    public var paceMs: Double?
    /// The most milliseconds by which each pause is randomly lengthened or shortened.
    public var jitterMs: Double?
    /// The seed of `jitter_ms` and `words`. Default 0.
    public var seed: UInt64?
    /// The number of tokens after which the stream stalls once.
    public var stallAfterTokens: Int?
    /// The milliseconds of the stall; nil: for ever.
    public var stallMs: Double?

    // End.
    /// The finish reason instead of `stop`, such as `length` or `content_filter`.
    public var finishReason: String?
    /// Accepts the request and sends nothing, not even a head.
    public var hang: Bool?
    /// Closes the connection without a response.
    public var drop: Bool?
    /// Answers with an HTTP error.
    public var httpError: HTTPError?
    /// The number of tokens after which the stream has an error (status 500 if the request is not streamed).
    public var errorAfterTokens: Int?
    /// The content of that error.
    public var error: ErrorBody?
    /// Sends `[DONE]` after the error, as some compatible servers do.
    public var errorThenDone: Bool?
    /// Sends that error as a bare object, without the framing of the stream, as Ollama and Gemini do.
    public var bareError: Bool?
    /// The number of tokens after which the connection is cut.
    public var cutAfterTokens: Int?
    /// How the connection is cut. Default `close`.
    public var cut: Cut?
    /// Sends half of the next event before the cut.
    public var cutInsideFrame: Bool?
    /// Ends the stream without `[DONE]`.
    public var noDone: Bool?
    /// Sends no finish reason.
    public var noFinish: Bool?

    // Writes.
    /// Writes every byte separately.
    public var bytewise: Bool?
    /// The most bytes of one write.
    public var chunkBytes: Int?
    /// The tokens of one write. The average pace does not change.
    public var tokensPerWrite: Int?
    /// Response headers to add or replace.
    public var headers: [String: String]?

    // Usage.
    /// Sends no usage, even if the request asks for it.
    public var noUsage: Bool?
    /// Prompt tokens reported as read from the cache.
    public var cachedTokens: Int?
    /// Prompt tokens reported as written to the cache, by the dialects that report it.
    public var cacheWriteTokens: Int?
    /// Counts as read from the cache what an earlier request for the model began with, as the provider would (`PrefixCache`).
    public var prefixCache: Bool?
    /// Token counts to report instead of the actual ones.
    public var usage: UsageOverride?

    /// Creates the script of a regular answer.
    public init() {}

    /// An HTTP error instead of an answer.
    public struct HTTPError: Sendable, Equatable {
        /// The status, 400–599.
        public var status: Int
        /// `error.code`; default by status.
        public var code: String?
        /// `error.type`; default by status.
        public var type: String?
        /// `error.message`; default by status.
        public var message: String?
        /// Seconds, sent as `retry-after` and `retry-after-ms`.
        public var retryAfter: Double?
        /// A body of type `text/html` instead of the dialect's error object, as a proxy in front of a provider sends it.
        public var body: String?

        /// Fields that are nil have the dialect's usual texts for the status.
        public init(
            status: Int, code: String? = nil, type: String? = nil, message: String? = nil, retryAfter: Double? = nil, body: String? = nil
        ) {
            self.status = status
            self.code = code
            self.type = type
            self.message = message
            self.retryAfter = retryAfter
            self.body = body
        }
    }

    /// The content of an error inside a stream.
    public struct ErrorBody: Sendable, Equatable {
        /// Default `server_error`.
        public var type: String?
        /// Default null.
        public var code: String?
        /// Default: the provider's usual text for an internal error.
        public var message: String?

        /// Fields that are nil have the dialect's defaults.
        public init(type: String? = nil, code: String? = nil, message: String? = nil) {
            self.type = type
            self.code = code
            self.message = message
        }
    }

    /// How a connection is cut.
    public enum Cut: String, Sendable, Equatable, CaseIterable {
        /// Sends FIN in the middle of the body. All sent data arrives.
        case close
        /// Sends RST. Data that the client has not read may be lost.
        case reset
    }

    /// Token counts to report. Fields that are nil have the actual counts.
    public struct UsageOverride: Sendable, Equatable {
        /// Includes cached tokens.
        public var promptTokens: Int?
        /// Includes reasoning tokens.
        public var completionTokens: Int?
        /// Part of the prompt tokens.
        public var cachedTokens: Int?
        /// Part of the completion tokens.
        public var reasoningTokens: Int?

        public init(promptTokens: Int? = nil, completionTokens: Int? = nil, cachedTokens: Int? = nil, reasoningTokens: Int? = nil) {
            self.promptTokens = promptTokens
            self.completionTokens = completionTokens
            self.cachedTokens = cachedTokens
            self.reasoningTokens = reasoningTokens
        }
    }

}
