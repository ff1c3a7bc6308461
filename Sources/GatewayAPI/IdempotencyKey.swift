/// A key that a client chooses for one message, so that sending it twice creates one turn: 1–128 printable ASCII characters.
public struct IdempotencyKey: Sendable, Hashable {
    /// The key as sent.
    public let text: String

    /// nil when the text is not a valid key.
    public init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        self.text = text
    }

    /// The key of a request, from the header `Idempotency-Key` or the body. Throws when the two differ or the header is malformed.
    public static func resolve(header: String?, body: IdempotencyKey?) throws(RequestBodyError) -> IdempotencyKey? {
        guard let header else { return body }
        guard let key = IdempotencyKey(header) else { throw .field("idempotency_key", .malformedKey) }
        if let body, body != key { throw .field("client_message_id", .contradictory) }
        return key
    }
}
