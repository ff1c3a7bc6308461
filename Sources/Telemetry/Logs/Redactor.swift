/// Scrubs what looks like a secret or a person's address from text that is about to be logged.
///
/// This is the last resort, not the rule: the product logs identifiers and numbers, never what people write. What slips into an error
/// text of a library is caught here: JSON web tokens, bearer and basic credentials, API keys, passwords in URLs and connection
/// strings, e-mail addresses. One pass over the bytes; text without a finding is returned as it is.
public struct Redactor: Sendable {
    /// What stands in the place of a secret.
    public static let mark = "[redacted]"

    /// A redactor.
    public init() {}

    /// The text with every finding replaced by ``mark``.
    public func redact(_ text: String) -> String {
        var scan = RedactionScan(text)
        return scan.run().map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Whether the value under a metadata key is a secret by its name, whatever it looks like.
    public func isSecret(key: String) -> Bool {
        var key = key
        return key.withUTF8 { key in
            let name = key.suffix(from: (key.lastIndex(of: UInt8(ascii: ".")) ?? -1) + 1)
            return Self.secretKeys.contains { secret in
                secret.count == name.count && zip(secret, name).allSatisfy { $0 == Self.folded($1) }
            }
        }
    }

    /// In lower case, `-` as `_`.
    private static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "_")
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        default: byte
        }
    }

    private static let secretKeys =
        [
            "access_token", "api_key", "apikey", "authorization", "client_secret", "content", "cookie", "credential", "email", "id_token",
            "jwt",
            "message_text", "passwd", "password", "phone", "prompt", "pwd", "refresh_token", "secret", "set_cookie", "share_token", "text",
            "token",
            "x_api_key",
        ].map { Array($0.utf8) }
}
