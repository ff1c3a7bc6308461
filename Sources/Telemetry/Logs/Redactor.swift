/// Removes secrets and e-mail addresses from text before it is logged.
///
/// A last line of defence: the code logs identifiers and numbers, never what users write, but error texts of libraries may contain secrets.
/// Recognized are JSON Web Tokens, bearer and basic credentials, API keys, passwords in URLs and connection strings, and e-mail addresses.
/// One pass over the bytes; text without a secret is returned unchanged.
public struct Redactor: Sendable {
    /// Replaces a secret.
    public static let mark = "[redacted]"

    public init() {}

    /// The text with every secret replaced by ``mark``.
    public func redact(_ text: String) -> String {
        var scan = RedactionScan(text)
        return scan.run().map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// Whether the value of a metadata key is always a secret, by the key's name, such as `password` or `prompt`.
    public func isSecret(key: String) -> Bool {
        var key = key
        return key.withUTF8 { key in
            let name = key.suffix(from: (key.lastIndex(of: UInt8(ascii: ".")) ?? -1) + 1)
            return Self.secretKeys.contains { secret in
                secret.count == name.count && zip(secret, name).allSatisfy { $0 == Self.folded($1) }
            }
        }
    }

    /// A byte of a name in lower case, with `-` as `_`.
    static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "_")
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        default: byte
        }
    }

    private static let secretKeys =
        [
            "access_token", "api_key", "apikey", "authorization", "client_secret", "content", "cookie", "credential", "email", "id_token",
            "jwt", "message_text", "passwd", "password", "phone", "prompt", "pwd", "refresh_token", "secret", "set_cookie", "share_token",
            "text", "token", "x_api_key",
        ].map { Array($0.utf8) }
}
