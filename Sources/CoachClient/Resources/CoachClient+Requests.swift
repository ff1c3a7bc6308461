import Foundation
import GatewayAPI
import JSON

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request for a resource.
struct ResourceRequest: Sendable {
    var method: String
    var path: String
    var query: [(String, String?)] = []
    var headers: [String: String] = [:]
    var body: [UInt8]?

    /// - Parameter path: below `/api/v1`.
    init(_ method: String, _ path: String, query: [(String, String?)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.path = "api/v1/\(path)"
        self.query = query
        self.body = body
    }

    init(_ path: String, query: [(String, String?)] = []) { self.init("GET", path, query: query) }

    /// A creation, which may be repeated without a second effect.
    static func creation(_ path: String, _ body: JSONValue) -> ResourceRequest {
        var request = ResourceRequest("POST", path, body: body.bytes)
        request.headers["Idempotency-Key"] = UUID.random().canonicalText
        return request
    }

    /// A change of the version that the app has seen; nil: of any.
    func ifMatch(_ tag: String?) -> ResourceRequest {
        var request = self
        request.headers["If-Match"] = tag
        return request
    }

    /// Whether a resource has all that this change sends; false for a change that sends no fields.
    func isApplied(in resource: JSONValue) -> Bool {
        guard let body, let sent = try? JSONValue(parsing: body), let members = sent.members, !members.isEmpty else { return false }
        return members.allSatisfy { $0.value.isSame(as: resource[$0.key] ?? .null) }
    }
}

/// Whether a change has had its effect, as the current version of its resource tells.
enum ChangeEffect {
    /// The resource is as the change would make it.
    case applied
    /// The resource is not, or no longer, as the change would make it.
    case missing
    case unknown
}

extension JSONValue {
    /// As a database compares: members in any order, and a field that was cleared is empty.
    func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.null, .array(let elements)): elements.isEmpty
        case (.array(let own), .array(let others)): own.count == others.count && zip(own, others).allSatisfy { $0.isSame(as: $1) }
        case (.object(let own), .object(let others)):
            own.count == others.count && own.allSatisfy { member in other[member.key].map(member.value.isSame) ?? false }
        case (.integer, .number), (.number, .integer): number == other.number
        default: self == other
        }
    }
}

extension CoachClient {
    /// The resource of an answer. Throws `CoachError`.
    func one<Value: JSONReadable>(_ request: ResourceRequest) async throws -> Value { try Self.value(try await answer(request).envelope) }

    /// The resource with its `ETag`. A change whose answer was lost is stale when it is repeated: then the current version is the answer if it
    /// shows the effect. Throws `CoachError`: `preconditionFailed` if it does not, and `effectUnknown`.
    /// - Parameter effect: of the change, as the current version tells; nil: whether that has all members of the body. May send requests.
    func versioned<Value: JSONReadable>(
        _ request: ResourceRequest, effect: ((_ current: Value) async throws -> ChangeEffect)? = nil
    ) async throws -> Versioned<Value> {
        do {
            let (envelope, head) = try await answer(request)
            guard let tag = head.headers["etag"] else { throw CoachError.unreadable("the answer has no ETag") }
            return Versioned(try Self.value(envelope), tag: tag)
        } catch let error as CoachError where error.followsLostAnswer && error.code == .gateway(.preconditionFailed) {
            guard let tag = error.tag, let current = error.details?["current"] else { throw error }
            let value: Value = try Self.value(current)
            let found: ChangeEffect
            do {
                found = try await effect?(value) ?? (request.isApplied(in: current) ? .applied : .missing)
            } catch is CoachError {
                // What would tell cannot be read.
                found = .unknown
            }
            switch found {
            case .applied: return Versioned(value, tag: tag)
            case .missing: throw error
            case .unknown: throw CoachError.effectUnknown(error)
            }
        }
    }

    /// For answers without content.
    /// - Parameter done: the error of a repeated request when the first one, whose answer was lost, had its effect.
    func perform(_ request: ResourceRequest, done: ErrorCode? = nil) async throws {
        do {
            _ = try await answer(request)
        } catch let error as CoachError
            where error.followsLostAnswer && error.isFromGateway && done.map({ error.code == .gateway($0) }) ?? false
        {}
    }

    func page<Element: JSONReadable>(_ request: ResourceRequest, limit: Int, cursor: String?) async throws -> Page<Element> {
        var request = request
        let paging: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        request.query = paging + request.query
        let envelope = try await answer(request).envelope
        let elements: [Element] = try Self.value(envelope)
        let pagination = envelope.pagination
        return Page(
            elements: elements, nextCursor: pagination?.nextCursor, nextUpdatedSince: pagination?.nextUpdatedSince,
            hasMore: pagination?.hasMore ?? false, isReset: pagination?.reset ?? false)
    }

    /// All pages of a list.
    func elements<Element: JSONReadable>(_ request: ResourceRequest, limit: Int = 100) -> Elements<Element> {
        Elements { cursor in try await page(request, limit: limit, cursor: cursor) }
    }

    private static func value<Value: JSONReadable>(_ envelope: ReceivedEnvelope) throws -> Value {
        guard case .success(let data) = envelope.result else { throw CoachError.unreadable("the answer is not an envelope") }
        return try value(data)
    }

    private static func value<Value: JSONReadable>(_ data: JSONValue) throws -> Value {
        do throws(JSONFinding) {
            return try Value(JSONReader(data))
        } catch {
            throw CoachError.unreadable("the answer cannot be read: \(error)")
        }
    }

    /// Sends a request whose response is one envelope.
    func answer(_ request: ResourceRequest) async throws -> (envelope: ReceivedEnvelope, head: ResponseHead) {
        let (body, head) = try await response(request, accept: "application/json")
        guard let envelope = try? ReceivedEnvelope(json: body), case .success = envelope.result else {
            throw CoachError.unreadable("the answer is not an envelope")
        }
        return (envelope, head)
    }

    /// Sends a request and reads its whole response. Repeats it as `repeating` does.
    func response(_ request: ResourceRequest, accept: String) async throws -> (body: [UInt8], head: ResponseHead) {
        try await repeating { try await exchange(request, accept) }
    }

    /// Sends a request whose response is read as it arrives. Repeats it as `repeating` does, until there is a response.
    func opened(_ request: ResourceRequest, accept: String) async throws -> Transport.Response {
        try await repeating { try await open(request, accept) }
    }

    /// Repeats a request by the retry policy: every request here may be repeated, because it reads, names a version, has a key, or is rejected the
    /// second time (`perform`).
    private func repeating<Answer>(_ send: () async throws -> Result<Answer, Failure>) async throws -> Answer {
        var state = RetryState(policy: configuration.retry)
        var hasLostAnswer = false
        while true {
            let decision: RetryState.Decision
            switch try await send() {
            case .success(let answer): return answer
            case .failure(.rejected(var error)):
                error.followsLostAnswer = hasLostAnswer
                decision = state.rejected(error, jitter: configuration.jitter())
                // A gateway or proxy may fail after the database has committed; one that is overloaded has not begun.
                hasLostAnswer = hasLostAnswer || error.action == .retry && error.code != .gateway(.overloaded)
            case .failure(.lost(let error)):
                decision = state.lost(error, jitter: configuration.jitter())
                hasLostAnswer = true
            case .failure(.unsent(let error)):
                decision = error.retryable ? state.lost(error, jitter: configuration.jitter()) : .giveUp(error)
            }
            switch decision {
            case .retry(let pause): try await configuration.sleep(pause)
            case .giveUp(let error): throw error
            }
        }
    }

    private enum Failure: Error {
        case rejected(CoachError)
        /// The request may have had its effect.
        case lost(CoachError)
        case unsent(CoachError)
    }

    private func exchange(
        _ resource: ResourceRequest, _ accept: String
    ) async throws -> Result<(body: [UInt8], head: ResponseHead), Failure> {
        let response: Transport.Response
        switch try await open(resource, accept) {
        case .success(let opened): response = opened
        case .failure(let failure): return .failure(failure)
        }
        do {
            var body: [UInt8] = []
            for try await bytes in response.body { body += bytes }
            // What is no envelope came from a proxy.
            if accept == "application/json", (try? ReceivedEnvelope(json: body)) == nil {
                return .failure(.lost(.unreadable("the answer is not an envelope")))
            }
            return .success((body, ResponseHead(status: response.status, headers: response.headers)))
        } catch {
            try Task.checkCancellation()
            return .failure(.lost(.connectionLost("the connection was lost: \(error)")))
        }
    }

    /// The response of a request that was accepted, before its body is read.
    private func open(_ resource: ResourceRequest, _ accept: String) async throws -> Result<Transport.Response, Failure> {
        let request: URLRequest
        do {
            request = try await requestBuilder.request(
                resource.method, resource.path,
                query: resource.query.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }, accept: accept,
                body: resource.body, headers: resource.headers)
        } catch let error as UnsentRequest {
            return .failure(.unsent(error.cause))
        }
        var head: ResponseHead?
        do {
            let response = try await configuration.transport.stream(request)
            let received = ResponseHead(status: response.status, headers: response.headers)
            head = received
            if received.isSuccess { return .success(response) }
            var body: [UInt8] = []
            for try await bytes in response.body { body += bytes }
            return .failure(.rejected(CoachError(received, body: body)))
        } catch {
            try Task.checkCancellation()
            if head != nil { return .failure(.lost(.connectionLost("the connection was lost: \(error)"))) }
            return .failure(Self.isUnsent(error) ? .unsent(.unreachable(error)) : .lost(.unreachable(error)))
        }
    }

    /// Whether there was no connection on which a request could have been sent.
    private static func isUnsent(_ error: any Error) -> Bool {
        let codes: [URLError.Code] = [
            .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .secureConnectionFailed,
        ]
        return (error as? URLError).map { codes.contains($0.code) } ?? false
    }
}
