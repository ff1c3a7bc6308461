/// A proxy between us and the providers.
struct Proxy: Hashable {
    var host: String
    var port: UInt16
    /// `user:password`.
    var credentials: String?

    /// The field that names us to the proxy (RFC 9110 §11.7.2), with its line end; empty without credentials.
    var authorizationField: String {
        credentials.map { "Proxy-Authorization: Basic \(Base64.encode($0.utf8))\r\n" } ?? ""
    }
}

/// RFC 4648 §4.
enum Base64 {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bytes = Array(bytes)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            for index in 0..<4 {
                text.append(index <= group.count ? digits[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
