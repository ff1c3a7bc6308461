import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Builds HTTP requests to one gateway, each with a current access token.
struct RequestBuilder: Sendable {
    let baseURL: URL
    let token: @Sendable () async throws -> String

    /// URLSession's idle timeout in seconds, longer than `Configuration.idleTimeout`, which applies first.
    private static let timeout: Double = 60

    /// Throws `UnsentRequest` when there is no token, and `CancellationError`.
    func request(
        _ method: String, _ path: String, query: [URLQueryItem] = [], accept: String, body: [UInt8]? = nil, lastEventID: Int? = nil,
        headers: [String: String] = [:]
    ) async throws -> URLRequest {
        var request = URLRequest(url: url(path, query), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.timeout)
        request.httpMethod = method
        request.setValue("Bearer \(try await currentToken())", forHTTPHeaderField: "Authorization")
        request.setValue(accept, forHTTPHeaderField: "Accept")
        if let lastEventID { request.setValue(String(lastEventID), forHTTPHeaderField: "Last-Event-ID") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        if let body {
            if headers["Content-Type"] == nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
            request.httpBody = Data(body)
        }
        return request
    }

    private func url(_ path: String, _ query: [URLQueryItem]) -> URL {
        let url = baseURL.appending(path: path)
        guard !query.isEmpty, var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        components.queryItems = query
        // Many servers decode a plus sign as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacing("+", with: "%2B")
        return components.url ?? url
    }

    private func currentToken() async throws -> String {
        do {
            return try await token()
        } catch let error as CancellationError {
            throw error
        } catch {
            guard let networkError = URLError.found(in: error) else { throw UnsentRequest(cause: .noToken(error)) }
            // The app renews its token over the network, which may be away as the gateway is.
            try Task.checkCancellation()
            throw UnsentRequest(cause: .unreachable(networkError))
        }
    }
}

/// A request that could not be made, so that nothing was sent.
struct UnsentRequest: Error {
    let cause: CoachError
}
