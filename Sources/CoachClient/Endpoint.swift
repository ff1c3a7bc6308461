import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Builds requests to one gateway, each with a token that was asked for at that moment.
struct Endpoint: Sendable {
    let baseURL: URL
    let token: @Sendable () async throws -> String

    /// Idle limit of a request in seconds, behind our own limit for streams.
    private static let timeout: Double = 60

    func request(
        _ method: String, _ path: String, query: [URLQueryItem] = [], accept: String, body: [UInt8]? = nil, lastEventID: Int? = nil
    ) async throws -> URLRequest {
        var request = URLRequest(url: url(path, query), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.timeout)
        request.httpMethod = method
        request.setValue("Bearer \(try await currentToken())", forHTTPHeaderField: "Authorization")
        request.setValue(accept, forHTTPHeaderField: "Accept")
        if let lastEventID { request.setValue(String(lastEventID), forHTTPHeaderField: "Last-Event-ID") }
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(body)
        }
        return request
    }

    private func url(_ path: String, _ query: [URLQueryItem]) -> URL {
        let url = baseURL.appending(path: path)
        guard !query.isEmpty, var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        components.queryItems = query
        // Many servers read a bare plus as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacing("+", with: "%2B")
        return components.url ?? url
    }

    private func currentToken() async throws -> String {
        do {
            return try await token()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw CoachError.noToken(error)
        }
    }
}

extension UUID {
    /// As the gateway writes ids.
    var pathText: String { uuidString.lowercased() }
}
