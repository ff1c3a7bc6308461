import JSON

/// The reason why a script is invalid.
public struct ScriptError: Error, Equatable, CustomStringConvertible {
    /// A sentence that names the invalid field.
    public let description: String
}

extension Script {
    /// Limits that keep one request from occupying the simulator. Values beyond them are errors.
    private enum Limit {
        static let words = 100_000
        static let milliseconds = 3_600_000.0
    }

    /// Parses a script. Throws for anything that is not a valid script, including unknown fields.
    public init(json: some Collection<UInt8>) throws(ScriptError) {
        // U+0000 is kept: models have sent it, and the gateway must drop it.
        guard let document = try? JSONDocument(parsing: Array(json)), document.findings.allSatisfy({ $0.kind == .nulCharacter }) else {
            throw ScriptError(description: "the script is not JSON")
        }
        try self.init(document.value)
    }

    init(_ value: JSONValue) throws(ScriptError) {
        let (script, findings) = JSONReader.collect(value, Script.init)
        guard let script else { throw ScriptError(description: findings.map { "the script: \($0)" }.joined(separator: "; ")) }
        self = script
    }

    private init(_ json: JSONReader) throws(JSONFinding) {
        let count = JSONField.integer(0...Limit.words)
        let size = JSONField.integer(1...Int.max)
        let span = JSONField.number(0...Limit.milliseconds)
        model = try json.optional("model")
        empty = try json.optional("empty")
        tokens = try json.optional("tokens")
        text = try json.optional("text")
        words = try json.optional("words", count)
        unicode = try json.optional("unicode")
        thinking = try json.optional("thinking")
        comments = try json.optional("comments")
        firstTokenMs = try json.optional("first_token_ms", span)
        paceMs = try json.optional("pace_ms", span)
        jitterMs = try json.optional("jitter_ms", span)
        seed = try json.optional("seed", .integer(0...Int.max)).map { UInt64($0) }
        stallAfterTokens = try json.optional("stall_after_tokens", count)
        stallMs = try json.optional("stall_ms", span)
        finishReason = try json.optional("finish_reason")
        hang = try json.optional("hang")
        drop = try json.optional("drop")
        httpError = try json.optional("http_error", .object(HTTPError.init))
        errorAfterTokens = try json.optional("error_after_tokens", count)
        error = try json.optional("error", .object(ErrorBody.init))
        errorThenDone = try json.optional("error_then_done")
        bareError = try json.optional("bare_error")
        cutAfterTokens = try json.optional("cut_after_tokens", count)
        cut = try json.optional("cut", .choice)
        cutInsideFrame = try json.optional("cut_inside_frame")
        noDone = try json.optional("no_done")
        noFinish = try json.optional("no_finish")
        bytewise = try json.optional("bytewise")
        chunkBytes = try json.optional("chunk_bytes", size)
        tokensPerWrite = try json.optional("tokens_per_write", size)
        headers = try json.optional("headers", .texts)
        noUsage = try json.optional("no_usage")
        cachedTokens = try json.optional("cached_tokens", count)
        cacheWriteTokens = try json.optional("cache_write_tokens", count)
        prefixCache = try json.optional("prefix_cache")
        usage = try json.optional("usage", .object(UsageOverride.init))
        try json.rejectUnknown()
    }

    /// The script as JSON text, for the header, the embedded form and the control API.
    public var json: String { String(decoding: value.bytes, as: UTF8.self) }

    /// The script as JSON, without fields that are nil.
    var value: JSONValue {
        .members(
            ("model", .text(model)), ("empty", .flag(empty)), ("tokens", tokens.map { .array($0.map(JSONValue.string)) }),
            ("text", .text(text)), ("words", .number(words)), ("unicode", .flag(unicode)), ("thinking", .text(thinking)),
            ("comments", .flag(comments)), ("first_token_ms", .decimal(firstTokenMs)),
            ("pace_ms", .decimal(paceMs)), ("jitter_ms", .decimal(jitterMs)), ("seed", .number(seed.map { Int($0) })),
            ("stall_after_tokens", .number(stallAfterTokens)), ("stall_ms", .decimal(stallMs)), ("finish_reason", .text(finishReason)),
            ("hang", .flag(hang)), ("drop", .flag(drop)), ("http_error", httpError?.value),
            ("error_after_tokens", .number(errorAfterTokens)), ("error", error?.value), ("error_then_done", .flag(errorThenDone)),
            ("bare_error", .flag(bareError)),
            ("cut_after_tokens", .number(cutAfterTokens)), ("cut", .text(cut?.rawValue)), ("cut_inside_frame", .flag(cutInsideFrame)),
            ("no_done", .flag(noDone)), ("no_finish", .flag(noFinish)), ("bytewise", .flag(bytewise)),
            ("chunk_bytes", .number(chunkBytes)), ("tokens_per_write", .number(tokensPerWrite)),
            ("headers", headers.map { .object($0.sorted { $0.key < $1.key }.map { JSONMember($0.key, .string($0.value)) }) }),
            ("no_usage", .flag(noUsage)), ("cached_tokens", .number(cachedTokens)),
            ("cache_write_tokens", .number(cacheWriteTokens)), ("prefix_cache", .flag(prefixCache)), ("usage", usage?.value))
    }
}

extension Script.HTTPError {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            status: try json.required("status", .integer(400...599)), code: try json.optional("code"), type: try json.optional("type"),
            message: try json.optional("message"), retryAfter: try json.optional("retry_after"), body: try json.optional("body"))
        try json.rejectUnknown()
    }

    fileprivate var value: JSONValue {
        .members(
            ("status", .number(status)), ("code", .text(code)), ("type", .text(type)), ("message", .text(message)),
            ("retry_after", .decimal(retryAfter)), ("body", .text(body)))
    }
}

extension Script.ErrorBody {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init(type: try json.optional("type"), code: try json.optional("code"), message: try json.optional("message"))
        try json.rejectUnknown()
    }

    fileprivate var value: JSONValue { .members(("type", .text(type)), ("code", .text(code)), ("message", .text(message))) }
}

extension Script.UsageOverride {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            promptTokens: try json.optional("prompt_tokens"), completionTokens: try json.optional("completion_tokens"),
            cachedTokens: try json.optional("cached_tokens"), reasoningTokens: try json.optional("reasoning_tokens"))
        try json.rejectUnknown()
    }

    fileprivate var value: JSONValue {
        .members(
            ("prompt_tokens", .number(promptTokens)), ("completion_tokens", .number(completionTokens)),
            ("cached_tokens", .number(cachedTokens)), ("reasoning_tokens", .number(reasoningTokens)))
    }
}

extension JSONField<[String: String]> {
    /// An object whose members are texts.
    fileprivate static var texts: Self {
        .object { (json) throws(JSONFinding) in
            var texts: [String: String] = [:]
            for name in json.names { texts[name] = try json.required(name) }
            return texts
        }
    }
}

extension JSONValue {
    /// An object of the members that are not nil.
    fileprivate static func members(_ members: (String, JSONValue?)...) -> JSONValue {
        .object(members.compactMap { name, value in value.map { JSONMember(name, $0) } })
    }
}

extension JSONValue? {
    fileprivate static func text(_ value: String?) -> Self { value.map(JSONValue.string) }
    fileprivate static func number(_ value: Int?) -> Self { value.map(JSONValue.count) }
    fileprivate static func decimal(_ value: Double?) -> Self { value.map(JSONValue.number) }
    fileprivate static func flag(_ value: Bool?) -> Self { value.map(JSONValue.bool) }
}
