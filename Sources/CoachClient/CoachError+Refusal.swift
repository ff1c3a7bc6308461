import GatewayAPI

extension CoachError {
    /// An `error` event.
    init(_ failure: StreamFailure) {
        self.init(
            code: .gateway(failure.code), message: failure.message, userMessage: failure.userMessage, action: failure.action,
            retryable: failure.retryable, retryAfter: failure.retryAfter.map { .seconds($0) }, partial: failure.partial,
            keptBytes: failure.keptBytes)
    }

    /// The `error` of an envelope. It does not say whether repeating helps; the action and the code do.
    init(_ body: ErrorBody) {
        self.init(
            code: .gateway(body.code), message: body.message, userMessage: body.userMessage, action: body.action,
            retryable: body.action == .retry || body.code == .rateLimited || body.code == .overloaded,
            retryAfter: body.retryAfter.map { .seconds($0) })
    }

    /// A response that is no success, whatever its body is.
    init(_ head: ResponseHead, body: [UInt8]) {
        if let envelope = try? ReceivedEnvelope(json: body), case .failure(let error) = envelope.result {
            self.init(error)
            requestID = envelope.requestID
        } else {
            self.init(statusAlone: head.status)
        }
        complete(with: head)
    }

    /// Adds what the head says and the body did not.
    mutating func complete(with head: ResponseHead) {
        retryAfter = retryAfter ?? head.retryAfter
        requestID = requestID ?? head.headers["x-request-id"]
    }

    /// For answers that come from something before the gateway.
    private init(statusAlone status: Int) {
        let (code, action, retryable): (ErrorCode, ErrorAction, Bool) =
            switch status {
            case 401: (.unauthenticated, .reauthenticate, false)
            case 403: (.forbidden, .goBack, false)
            case 404: (.notFound, .goBack, false)
            case 413, 431: (.tooLarge, .fixInput, false)
            case 429: (.rateLimited, .wait, true)
            case 503: (.overloaded, .retry, true)
            case 500...: (.unforeseen, .retry, true)
            default: (.unforeseen, .goBack, false)
            }
        self.init(
            code: .gateway(code), message: "HTTP status \(status) without an explanation",
            userMessage: code == .unauthenticated
                ? "I had trouble signing you in. Let's try that again." : "Coach is taking a moment. Let's try again.",
            action: action, retryable: retryable)
    }
}

/// Status and headers of a response.
struct ResponseHead: Sendable, Equatable {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]

    var isSuccess: Bool { (200..<300).contains(status) }
    var isEventStream: Bool { headers["content-type"]?.lowercased().hasPrefix("text/event-stream") ?? false }
    /// The form in seconds; dates are not understood, because the clocks of phones are wrong.
    var retryAfter: Duration? { headers["retry-after"].flatMap { Int($0) }.flatMap { $0 >= 0 ? .seconds($0) : nil } }
}
