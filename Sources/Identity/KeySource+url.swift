import AsyncHTTPClient
import Foundation

extension KeySource {
    /// A URL, https or http on loopback, and so must be every place that it redirects to. `timeout` covers the whole answer.
    public static func url(
        _ text: String, interval: Duration = .seconds(600), timeout: Duration = .seconds(5), client: HTTPClient = .shared
    ) throws(KeySourceError) -> KeySource {
        guard let url = URL(string: text), isTrustworthy(url) else { throw .insecure(url: text) }
        return KeySource(interval: interval) {
            try await within(timeout) {
                var request = HTTPClientRequest(url: text)
                request.headers.add(name: "Accept", value: "application/jwk-set+json, application/json")
                let response = try await client.execute(request, timeout: .seconds(60))
                for step in response.history {
                    guard let url = URL(string: step.request.url), isTrustworthy(url) else {
                        throw KeySourceError.insecure(url: step.request.url)
                    }
                }
                guard response.status == .ok else { throw KeySourceError.status(Int(response.status.code)) }
                var bytes: [UInt8] = []
                for try await chunk in response.body {
                    bytes.append(contentsOf: chunk.readableBytesView)
                    guard bytes.count <= maximumByteCount else { throw KeySourceError.tooLarge }
                }
                return bytes
            }
        }
    }

    static func isTrustworthy(_ url: URL) -> Bool {
        guard let host = url.host?.lowercased(), !host.isEmpty else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return host == "localhost" || host == "::1" || host == "[::1]" || isLoopbackIPv4(host)
        default: return false
        }
    }

    /// `127.x.y.z` and nothing longer: `127.0.0.1.example.com` is a stranger.
    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The client's own limit ends with the head of the response; this one holds to the last byte.
    private static func within(
        _ limit: Duration, _ work: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw KeySourceError.timeout
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw KeySourceError.timeout }
            return first
        }
    }
}
