import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `store_api.py`: gives scripted answers, and records the requests.
package struct StoreAPI: Sendable {
    package struct Request: Decodable {
        package var method: String
        package var path: String
        package var authorization: String?
        package var body: String
        /// Seconds, on the server's clock.
        package var at: Double
        /// Names in lower case.
        package var headers: [String: String]
    }

    private struct Answer: Encodable {
        var path: String
        var status: Int
        var headers: [String: String]
        var body: String
    }

    private let server: TestServer

    package init() throws { server = try TestServer("store_api") }

    package var url: String { server.url("") }

    /// Sets the response of a path for all later requests. Returns the time on the server's clock, in seconds.
    @discardableResult
    package func answer(_ path: String, status: Int = 200, headers: [String: String] = [:], _ body: String) async throws -> Double {
        var request = URLRequest(url: URL(string: url + "/set")!)
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(Answer(path: path, status: status, headers: headers, body: body))
        let (time, _) = try await URLSession.shared.data(for: request)
        return try JSONDecoder().decode(Double.self, from: time)
    }

    /// Lets requests wait for their answers, or answers them.
    package func pause(_ isPaused: Bool) { server.pause(isPaused) }

    package func requests() async throws -> [Request] {
        let (data, _) = try await URLSession.shared.data(from: URL(string: url + "/journal")!)
        return try JSONDecoder().decode([Request].self, from: data)
    }
}
