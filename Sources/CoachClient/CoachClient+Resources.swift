import Foundation
import GatewayAPI
import JSON

extension CoachClient {
    /// One page of a list.
    public struct Page<Element: Sendable>: Sendable {
        /// The elements in the gateway's order.
        public var elements: [Element]
        /// The cursor of the next page; nil on the last page.
        public var nextCursor: String?
        /// `updatedSince` for the changes after this page; nil on pages that were requested with a cursor.
        public var nextUpdatedSince: String?
        /// Whether more elements follow, by `nextCursor`, or by `nextUpdatedSince` if the page was requested with `updatedSince`.
        public var hasNext: Bool
        /// Whether `updatedSince` is no longer valid: the page is the first one of the whole list, and the app must drop what it stored.
        public var isReset: Bool
    }

    /// Lists the user's conversations, most recently active first.
    /// - Parameters:
    ///   - updatedSince: `nextUpdatedSince` of an earlier page: lists only later changes, including deleted conversations. Excludes `cursor`.
    ///   - limit: elements of a page, 1–100.
    ///   - cursor: `nextCursor` of the previous page; nil for the first page.
    public func conversations(
        updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<ConversationResource> {
        try await list("api/v1/conversations", limit, cursor, updatedSince)
    }

    /// Lists the messages of a conversation.
    /// - Parameters:
    ///   - updatedSince: `nextUpdatedSince` of an earlier page: lists only later changes. Excludes `cursor`.
    ///   - limit: elements of a page, 1–100.
    ///   - cursor: `nextCursor` of the previous page; nil for the first page.
    public func messages(
        of conversation: UUID, updatedSince: String? = nil, limit: Int = 20, cursor: String? = nil
    ) async throws -> Page<MessageResource> {
        try await list("api/v1/conversations/\(conversation.canonicalText)/messages", limit, cursor, updatedSince)
    }

    private func list<Element: JSONReadable>(
        _ path: String, _ limit: Int, _ cursor: String?, _ updatedSince: String?
    ) async throws -> Page<Element> {
        let query = [("limit", String(limit)), ("cursor", cursor), ("updated_since", updatedSince)].compactMap { name, value in
            value.map { URLQueryItem(name: name, value: $0) }
        }
        let envelope = try await call("GET", path, query: query)
        do throws(JSONFinding) {
            guard case .success(let data) = envelope.result else { throw JSONFinding("data", .missing) }
            let elements = try [Element](JSONReader(data))
            let pagination = envelope.pagination
            return Page(
                elements: elements, nextCursor: pagination?.nextCursor, nextUpdatedSince: pagination?.nextUpdatedSince,
                hasNext: pagination?.hasNext ?? false, isReset: pagination?.reset ?? false)
        } catch {
            throw CoachError.unreadable("the list cannot be read: \(error)")
        }
    }

    /// Sends a request whose response is one envelope and repeats it by the retry policy. Only for idempotent requests.
    func call(_ method: String, _ path: String, query: [URLQueryItem] = []) async throws -> ReceivedEnvelope {
        var state = RetryState(policy: configuration.retry)
        while true {
            let decision: RetryState.Decision
            switch try await exchange(method, path, query) {
            case .success(let envelope): return envelope
            case .failure(.rejected(let error)): decision = state.rejected(error, mayRepeat: true, jitter: configuration.jitter())
            case .failure(.lost(let error)): decision = state.lost(error, mayRepeat: true, jitter: configuration.jitter())
            }
            switch decision {
            case .retry(let pause): try await configuration.sleep(pause)
            case .giveUp(let error): throw error
            }
        }
    }

    private enum Failure: Error {
        case rejected(CoachError)
        case lost(CoachError)
    }

    private func exchange(_ method: String, _ path: String, _ query: [URLQueryItem]) async throws -> Result<ReceivedEnvelope, Failure> {
        let request = try await requestBuilder.request(method, path, query: query, accept: "application/json")
        var head: ResponseHead?
        do {
            let response = try await configuration.transport.stream(request)
            let received = ResponseHead(status: response.status, headers: response.headers)
            head = received
            var body: [UInt8] = []
            for try await bytes in response.body { body += bytes }
            guard received.isSuccess else { return .failure(.rejected(CoachError(received, body: body))) }
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
