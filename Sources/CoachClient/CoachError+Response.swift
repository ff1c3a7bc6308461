import GatewayAPI

extension CoachError {
    /// The error of an `error` event.
    init(_ failure: StreamFailure) {
        self.init(
            code: .gateway(failure.code), message: failure.message, userMessage: failure.userMessage, action: failure.action,
            retryable: failure.retryable, retryAfter: failure.retryAfter.map { .seconds($0) }, partial: failure.partial,
            keptBytes: failure.keptBytes)
    }

    /// The error of an envelope, which has no `retryable`: the action and the code determine it.
    init(_ body: ErrorBody) {
        self.init(
            code: .gateway(body.code), message: body.message, userMessage: body.userMessage, action: body.action,
            retryable: body.action == .retry || body.code == .rateLimited || body.code == .overloaded,
            retryAfter: body.retryAfter.map { .seconds($0) })
        details = body.details
    }

    /// The error of a response with a status other than 2xx and any body.
    init(_ head: ResponseHead, body: [UInt8]) {
        if let envelope = try? ReceivedEnvelope(json: body), case .failure(let error) = envelope.result {
            self.init(error)
            isFromGateway = true
            requestID = envelope.requestID
        } else {
            self.init(statusAlone: head.status)
        }
        complete(with: head)
    }

    /// Adds `ETag`, and `Retry-After` and `X-Request-ID` of the head where the body had none.
    mutating func complete(with head: ResponseHead) {
        tag = head.headers["etag"]
        retryAfter = retryAfter ?? head.retryAfter
        requestID = requestID ?? head.headers["x-request-id"]
    }

    /// The error of a response without an envelope, as proxies in front of the gateway send it.
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
            userMessage: code == .unauthenticated ? UserMessage.signIn : UserMessage.takingAMoment, action: action, retryable: retryable)
    }
}

/// The status and headers of a response.
struct ResponseHead: Sendable, Equatable {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]

    var isSuccess: Bool { (200..<300).contains(status) }
    var isEventStream: Bool { headers["content-type"]?.lowercased().hasPrefix("text/event-stream") ?? false }
    /// `Retry-After` in seconds. The form with a date is ignored, because the clocks of phones can be wrong.
    var retryAfter: Duration? { headers["retry-after"].flatMap { Int($0) }.flatMap { $0 >= 0 ? .seconds($0) : nil } }
}
