import EventStream
import Foundation
import GatewayAPI

extension CoachClient {
    /// A part of a list.
    public struct Page<Element: Sendable>: Sendable {
        /// In the gateway's order.
        public var elements: [Element]
        /// What asks for the next page; nil on the last one.
        public var nextCursor: String?
    }

    /// The user's conversations.
    /// - Parameter limit: 1–100 a page.
    public func conversations(limit: Int = 20, cursor: String? = nil) async throws -> Page<ConversationResource> {
        try await list("api/v1/conversations", limit, cursor) { (value) throws(WireError) in try ConversationResource(value) }
    }

    /// The messages of a conversation.
    /// - Parameters:
    ///   - updatedSince: only what changed at or after this moment.
    ///   - limit: 1–100 a page.
    public func messages(
        of conversation: UUID, updatedSince: Date? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<MessageResource> {
        let since = updatedSince.map { [URLQueryItem(name: "updated_since", value: Timestamp($0).rfc3339)] } ?? []
        return try await list("api/v1/conversations/\(conversation.pathText)/messages", limit, cursor, since) { (value) throws(WireError) in
            try MessageResource(value)
        }
    }

    private func list<Element>(
        _ path: String, _ limit: Int, _ cursor: String?, _ query: [URLQueryItem] = [], _ read: (JSONValue) throws(WireError) -> Element
    ) async throws -> Page<Element> {
        let paging = [URLQueryItem(name: "limit", value: String(limit))] + (cursor.map { [URLQueryItem(name: "cursor", value: $0)] } ?? [])
        let envelope = try await call("GET", path, query: query + paging)
        do throws(WireError) {
            guard case .success(let data) = envelope.result, let values = data.elements else { throw .unexpected(field: "data") }
            var elements: [Element] = []
            for value in values { elements.append(try read(value)) }
            return Page(elements: elements, nextCursor: envelope.pagination?.nextCursor)
        } catch {
            throw CoachError.unreadable("the list cannot be read: \(error)")
        }
    }

    /// A request that is answered with one envelope, repeated as the policy says. Only for what may be done twice.
    func call(_ method: String, _ path: String, query: [URLQueryItem] = []) async throws -> ReceivedEnvelope {
        var attempts = Attempts(policy: configuration.retry)
        while true {
            let verdict: Attempts.Verdict
            switch try await exchange(method, path, query) {
            case .success(let envelope): return envelope
            case .failure(.refused(let error)): verdict = attempts.refused(error, mayRepeat: true, jitter: configuration.jitter())
            case .failure(.lost(let error)): verdict = attempts.lost(error, mayRepeat: true, jitter: configuration.jitter())
            }
            switch verdict {
            case .again(let pause): try await configuration.sleep(pause)
            case .giveUp(let error): throw error
            }
        }
    }

    private enum Failure: Error {
        case refused(CoachError)
        case lost(CoachError)
    }

    private func exchange(_ method: String, _ path: String, _ query: [URLQueryItem]) async throws -> Result<ReceivedEnvelope, Failure> {
        let request = try await endpoint.request(method, path, query: query, accept: "application/json")
        var head: ResponseHead?
        do {
            let response = try await configuration.transport.stream(request)
            let received = ResponseHead(status: response.status, headers: response.headers)
            head = received
            var body: [UInt8] = []
            for try await bytes in response.body { body += bytes }
            guard received.isSuccess else { return .failure(.refused(CoachError(received, body: body))) }
            guard let envelope = try? ReceivedEnvelope(json: body), case .success = envelope.result else {
                return .failure(.lost(.unreadable("the answer is not an envelope")))
            }
            return .success(envelope)
        } catch {
            try Task.checkCancellation()
            return .failure(.lost(head == nil ? .unreachable(error) : .connectionLost("the connection was lost: \(error)")))
        }
    }
}
