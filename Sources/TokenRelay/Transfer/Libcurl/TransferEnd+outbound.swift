import OutboundHTTP

extension TransferEnd {
    /// What libcurl's client reports, in the terms of the fast driver.
    init(_ error: OutboundError) {
        self =
            switch error.code {
            case .cancelled, .shutDown: .cancelled
            case .connectTimeout: .failed(TransferFailure(kind: .connectTimeout))
            default: .failed(TransferFailure(kind: Self.kinds[error.code] ?? .other, code: error.cause?.systemCode ?? 0))
            }
    }

    private static let kinds: [OutboundError.Code: TransferFailure.Kind] = [
        .invalidRequest: .request, .resolve: .resolve, .connect: .connect, .proxy: .connect, .tls: .tls,
        .unanswered: .unanswered, .cut: .cut, .malformedResponse: .cut, .responseTooLarge: .cut,
    ]
}

extension OutboundError.Cause {
    /// As `TransferFailure.code` has it.
    fileprivate var systemCode: Int32 {
        switch self {
        case .curl(_, let errno): Int32(clamping: errno)
        case .resolver(let code): code
        case .certificate(let code): Int32(clamping: code)
        case .proxy(let reply): Int32(clamping: reply)
        }
    }
}
