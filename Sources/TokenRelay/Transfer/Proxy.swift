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

/// Which proxy an origin is reached through, by the customary variables: `http_proxy` (in lower case only, as a CGI's `HTTP_PROXY` is a
/// client's header), `https_proxy`, `all_proxy`, `no_proxy`. Pure.
struct ProxyRules {
    private var plain: Proxy?
    private var secure: Proxy?
    /// Names below which nothing is reached through a proxy; `*` is everything.
    private var exceptions: [String]

    /// No proxy.
    static let none = ProxyRules(environment: [:])

    init(environment: [String: String]) {
        func proxy(_ names: String...) -> Proxy? {
            guard let text = names.lazy.compactMap({ environment[$0] }).first(where: { !$0.isEmpty }) else { return nil }
            guard let address = TransferAddress(text.contains("://") ? text : "http://\(text)"), !address.origin.isSecure else {
                return nil
            }
            return Proxy(host: address.origin.host, port: address.origin.port, credentials: address.credentials.map(Self.decode))
        }
        plain = proxy("http_proxy", "all_proxy", "ALL_PROXY")
        secure = proxy("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        exceptions = (environment["no_proxy"] ?? environment["NO_PROXY"] ?? "").lowercased()
            .split { $0 == "," || $0 == " " }.map { String($0.first == "." ? $0.dropFirst() : $0) }
    }

    /// nil: directly.
    func proxy(for origin: Origin) -> Proxy? {
        guard !origin.isLoopback else { return nil }
        let isExcepted = exceptions.contains { $0 == "*" || $0 == origin.host || origin.host.hasSuffix(".\($0)") }
        return isExcepted ? nil : origin.isSecure ? secure : plain
    }

    private static func decode(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
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
