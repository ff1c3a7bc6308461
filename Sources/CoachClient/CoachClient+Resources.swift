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
        /// What asks for the changes after this answer, as `updatedSince`; nil on pages that a cursor asked for.
        public var nextUpdatedSince: String?
        /// More follows: by `nextCursor`, or by `nextUpdatedSince` when that was asked for.
        public var hasNext: Bool
        /// What `updatedSince` meant is gone: these are the first elements of the whole list, and what was kept is to be dropped.
        public var isReset: Bool
    }

    /// The user's conversations.
    /// - Parameters:
    ///   - updatedSince: `nextUpdatedSince` of an earlier answer: only what changed after it, deleted conversations included; without a cursor.
    ///   - limit: 1–100 a page.
    public func conversations(
        updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<ConversationResource> {
        try await list("api/v1/conversations", limit, cursor, updatedSince) { (value) throws(WireError) in try ConversationResource(value) }
    }

    /// The messages of a conversation.
    /// - Parameters:
    ///   - updatedSince: `nextUpdatedSince` of an earlier answer: only what changed after it; without a cursor.
    ///   - limit: 1–100 a page.
    public func messages(
        of conversation: UUID, updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<MessageResource> {
        try await list("api/v1/conversations/\(conversation.pathText)/messages", limit, cursor, updatedSince) { (value) throws(WireError) in
            try MessageResource(value)
        }
    }

    private func list<Element>(
        _ path: String, _ limit: Int, _ cursor: String?, _ updatedSince: String?, _ read: (JSONValue) throws(WireError) -> Element
    ) async throws -> Page<Element> {
        let query = [("limit", String(limit)), ("cursor", cursor), ("updated_since", updatedSince)].compactMap { name, value in
            value.map { URLQueryItem(name: name, value: $0) }
        }
        let envelope = try await call("GET", path, query: query)
        do throws(WireError) {
            guard case .success(let data) = envelope.result, let values = data.elements else { throw .unexpected(field: "data") }
            var elements: [Element] = []
            for value in values { elements.append(try read(value)) }
            let pagination = envelope.pagination
            return Page(
                elements: elements, nextCursor: pagination?.nextCursor, nextUpdatedSince: pagination?.nextUpdatedSince,
                hasNext: pagination?.hasNext ?? false, isReset: pagination?.reset ?? false)
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
