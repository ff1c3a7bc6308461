/// What a simulated provider shall do with one request. Every field is optional; an empty script is an ordinary, well-paced answer.
///
/// JSON form: the snake_case names below. An unknown field is an error, so a misspelt fault never passes for a healthy answer.
public struct Script: Sendable, Equatable, Codable {
    /// Applies only to requests for this model; others are answered as if there were no script.
    public var model: String?

    // What is said. The first that is set wins, in this order; none: a coach's reply that refers to the last user message.
    /// No text at all: a role, a finish reason, nothing between.
    public var empty: Bool?
    /// The exact pieces, one token each.
    public var tokens: [String]?
    /// The text; cut into tokens of about four characters.
    public var text: String?
    /// This number of words of harmless text, one token each.
    public var words: Int?
    /// A text with U+2028, U+2029, U+0085, emoji with joiners, combining marks and right-to-left letters.
    public var unicode: Bool?

    // When.
    /// Milliseconds from the request to the first token. Default 150; for `http_error` 0.
    public var firstTokenMs: Double?
    /// Milliseconds between two tokens. Default 20.
    public var paceMs: Double?
    /// Each pause is changed by up to this many milliseconds either way, drawn from `seed`.
    public var jitterMs: Double?
    /// Seed of `jitter_ms` and of the choice of words. Default 0.
    public var seed: UInt64?
    /// Falls silent once after this many tokens ...
    public var stallAfterTokens: Int?
    /// ... for this many milliseconds; absent: for ever.
    public var stallMs: Double?

    // How it ends.
    /// Instead of `stop`: any of the dialect's reasons, such as `length` or `content_filter`.
    public var finishReason: String?
    /// Takes the request and sends nothing, not even a head.
    public var hang: Bool?
    /// Closes the connection without an answer.
    public var drop: Bool?
    /// Answers with an HTTP error.
    public var httpError: HTTPError?
    /// After this many tokens, an error inside the stream (not streamed: status 500).
    public var errorAfterTokens: Int?
    /// What that error says.
    public var error: ErrorBody?
    /// `[DONE]` follows the error, as some compatible servers do.
    public var errorThenDone: Bool?
    /// After this many tokens the connection goes away.
    public var cutAfterTokens: Int?
    /// How it goes away. Default `close`.
    public var cut: Cut?
    /// Half of the next frame is sent before the cut.
    public var cutInsideFrame: Bool?
    /// The stream ends without `[DONE]`.
    public var noDone: Bool?
    /// No chunk carries a finish reason.
    public var noFinish: Bool?

    // How it is written.
    /// Every byte is its own write.
    public var bytewise: Bool?
    /// Every write has at most this many bytes.
    public var chunkBytes: Int?
    /// This many tokens leave in one write; the average pace stays.
    public var tokensPerWrite: Int?
    /// Response headers to add or replace.
    public var headers: [String: String]?

    // What is counted.
    /// Usage is not sent even when asked for.
    public var noUsage: Bool?
    /// Prompt tokens reported as read from the cache.
    public var cachedTokens: Int?
    /// Numbers reported instead of the counted ones.
    public var usage: UsageOverride?

    /// An ordinary answer.
    public init() {}

    /// An HTTP error instead of an answer.
    public struct HTTPError: Sendable, Equatable, Codable {
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
        /// Sent instead of the dialect's error object, as `text/html`: what a proxy in between answers.
        public var body: String?

        /// An error with the dialect's usual texts for this status.
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

        enum CodingKeys: String, CodingKey, CaseIterable {
            case status, code, type, message, body
            case retryAfter = "retry_after"
        }
    }

    /// The text of an error inside a stream.
    public struct ErrorBody: Sendable, Equatable, Codable {
        /// Default `server_error`.
        public var type: String?
        /// Default null.
        public var code: String?
        /// Default: the provider's usual apology.
        public var message: String?

        /// An error; what is nil has the dialect's default.
        public init(type: String? = nil, code: String? = nil, message: String? = nil) {
            self.type = type
            self.code = code
            self.message = message
        }

        enum CodingKeys: String, CodingKey, CaseIterable { case type, code, message }
    }

    /// How a connection goes away.
    public enum Cut: String, Sendable, Equatable, Codable {
        /// FIN in the middle of the body: what was sent arrives.
        case close
        /// RST: what was sent and not yet read may be lost.
        case reset
    }

    /// Reported token counts; what is nil is counted.
    public struct UsageOverride: Sendable, Equatable, Codable {
        /// Includes cached tokens.
        public var promptTokens: Int?
        /// Includes reasoning tokens.
        public var completionTokens: Int?
        /// Part of the prompt tokens.
        public var cachedTokens: Int?
        /// Part of the completion tokens.
        public var reasoningTokens: Int?

        /// An override; what is nil is counted.
        public init(promptTokens: Int? = nil, completionTokens: Int? = nil, cachedTokens: Int? = nil, reasoningTokens: Int? = nil) {
            self.promptTokens = promptTokens
            self.completionTokens = completionTokens
            self.cachedTokens = cachedTokens
            self.reasoningTokens = reasoningTokens
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case promptTokens = "prompt_tokens"
            case completionTokens = "completion_tokens"
            case cachedTokens = "cached_tokens"
            case reasoningTokens = "reasoning_tokens"
        }
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case model, empty, tokens, text, words, unicode, seed, hang, drop, error, cut, bytewise, headers, usage
        case firstTokenMs = "first_token_ms"
        case paceMs = "pace_ms"
        case jitterMs = "jitter_ms"
        case stallAfterTokens = "stall_after_tokens"
        case stallMs = "stall_ms"
        case finishReason = "finish_reason"
        case httpError = "http_error"
        case errorAfterTokens = "error_after_tokens"
        case errorThenDone = "error_then_done"
        case cutAfterTokens = "cut_after_tokens"
        case cutInsideFrame = "cut_inside_frame"
        case noDone = "no_done"
        case noFinish = "no_finish"
        case chunkBytes = "chunk_bytes"
        case tokensPerWrite = "tokens_per_write"
        case noUsage = "no_usage"
        case cachedTokens = "cached_tokens"
    }
}
