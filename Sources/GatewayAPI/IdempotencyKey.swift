import JSON

/// A key that a client chooses for one message, so that sending it twice creates one turn: 1–128 printable ASCII characters.
public struct IdempotencyKey: Sendable, Hashable {
    /// Without spaces at its ends, which a header's value does not have either.
    public let text: String

    /// nil when the text is not a valid key.
    public init?(_ text: String) {
        var key = text[...]
        while key.first == " " { key.removeFirst() }
        while key.last == " " { key.removeLast() }
        guard (1...128).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        self.text = String(key)
    }

    private init(valid text: String) { self.text = text }

    /// The key of a request, from the header `Idempotency-Key` or the body. Throws when the two differ or the header is malformed.
    public static func resolve(header: String?, body: IdempotencyKey?) throws(JSONFinding) -> IdempotencyKey? {
        guard let header else { return body }
        guard let key = IdempotencyKey(header) else { throw JSONFinding("idempotency_key", .invalid("must be \(form)")) }
        if let body, body != key { throw JSONFinding("client_message_id", .contradictory) }
        return key
    }

    private static let form = "1 to 128 printable ASCII characters"
}

extension IdempotencyKey: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self = try JSONField.parsed(Self.form, placeholder: IdempotencyKey(valid: "-")) { IdempotencyKey($0) }.read(json)
    }
}
