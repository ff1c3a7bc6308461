import Foundation

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
        let value: JSONValue
        do { value = try JSONValue(parsing: json) } catch { throw ScriptError(description: "the script is not JSON") }
        try self.init(value)
    }

    /// The script as JSON text, for the header, the embedded form and the control API.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The script in the form that can be embedded anywhere in the last user message: `[[sim {json}]]`.
    public var embedded: String { "[[sim \(json)]]" }

    init(_ value: JSONValue) throws(ScriptError) {
        guard case .object(let fields) = value else { throw ScriptError(description: "a script is a JSON object, not \(value.kind)") }
        try Self.check(fields, against: CodingKeys.allCases.map(\.rawValue), in: "script")
        if case .object(let inner)? = fields["http_error"] {
            try Self.check(inner, against: HTTPError.CodingKeys.allCases.map(\.rawValue), in: "http_error")
        }
        if case .object(let inner)? = fields["error"] {
            try Self.check(inner, against: ErrorBody.CodingKeys.allCases.map(\.rawValue), in: "error")
        }
        if case .object(let inner)? = fields["usage"] {
            try Self.check(inner, against: UsageOverride.CodingKeys.allCases.map(\.rawValue), in: "usage")
        }
        do {
            self = try JSONDecoder().decode(Script.self, from: Data(value.bytes))
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context)
        {
            throw ScriptError(description: "field \(context.codingPath.map(\.stringValue).joined(separator: ".")): wrong type or value")
        } catch DecodingError.keyNotFound(let key, _) {
            throw ScriptError(description: "field \(key.stringValue) is missing")
        } catch {
            throw ScriptError(description: "the script cannot be read")
        }
        try checkBounds()
    }

    private static func check(_ fields: [String: JSONValue], against known: [String], in place: String) throws(ScriptError) {
        guard let unknown = Set(fields.keys).subtracting(known).min() else { return }
        throw ScriptError(description: "\(place) has no field \(unknown); it has \(known.sorted().joined(separator: ", "))")
    }

    private func checkBounds() throws(ScriptError) {
        let counts = [
            ("words", words), ("stall_after_tokens", stallAfterTokens), ("error_after_tokens", errorAfterTokens),
            ("cut_after_tokens", cutAfterTokens), ("cached_tokens", cachedTokens),
        ]
        for (name, count) in counts where count.map({ $0 < 0 || $0 > Limit.words }) == true {
            throw ScriptError(description: "field \(name) must be 0 to \(Limit.words)")
        }
        for (name, count) in [("chunk_bytes", chunkBytes), ("tokens_per_write", tokensPerWrite)] where count.map({ $0 < 1 }) == true {
            throw ScriptError(description: "field \(name) must be at least 1")
        }
        let spans = [("first_token_ms", firstTokenMs), ("pace_ms", paceMs), ("jitter_ms", jitterMs), ("stall_ms", stallMs)]
        for (name, span) in spans where span.map({ $0 < 0 || $0 > Limit.milliseconds }) == true {
            throw ScriptError(description: "field \(name) must be 0 to \(Limit.milliseconds) milliseconds")
        }
        if let status = httpError?.status, !(400...599).contains(status) {
            throw ScriptError(description: "field http_error.status must be 400 to 599")
        }
    }
}
