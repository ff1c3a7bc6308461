import Foundation
import OutboundHTTP

extension KeySource {
    /// A URL: https, or http on loopback. Redirects are not followed. `timeout`: for the complete response.
    public static func url(
        _ text: String, client: OutboundHTTPClient, interval: Duration = .seconds(600), timeout: Duration = .seconds(5)
    ) throws(KeySourceError) -> KeySource {
        try check(url: text)
        var request = OutboundRequest(url: text, headers: [.init("Accept", "application/jwk-set+json, application/json")])
        request.limits = OutboundLimits(connect: timeout, total: timeout, responseBytes: maximumByteCount)
        return KeySource(interval: interval) { [request] in
            let response: OutboundResponse
            do throws(OutboundError) {
                response = try await client.send(request)
            } catch {
                throw KeySourceError(error)
            }
            guard response.status == 200 else { throw KeySourceError.status(response.status) }
            return response.body
        }
    }

    /// - Throws: `insecure` for anything but https, or http on loopback.
    public static func check(url text: String) throws(KeySourceError) {
        guard let url = URL(string: text), isTrustworthy(url) else { throw .insecure }
    }

    static func isTrustworthy(_ url: URL) -> Bool {
        guard let host = url.host?.lowercased(), !host.isEmpty else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return host == "localhost" || host == "::1" || host == "[::1]" || isLoopbackIPv4(host)
        default: return false
        }
    }

    /// Whether the host is `127.x.y.z`. Checks all parts, because `127.0.0.1.example.com` is a remote host.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension KeySourceError {
    init(_ error: OutboundError) {
        self =
            switch error.code {
            case .timeout, .connectTimeout: .timeout
            case .responseTooLarge: .tooLarge
            default: .unreachable("\(error)")
            }
    }
}
