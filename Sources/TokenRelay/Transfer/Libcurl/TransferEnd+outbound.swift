import OutboundHTTP

extension TransferEnd {
    /// Maps an error of libcurl's client to the kinds that the direct driver reports.
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
    /// The value for `TransferFailure.code`.
    fileprivate var systemCode: Int32 {
        switch self {
        case .curl(_, let errno): Int32(clamping: errno)
        case .resolver(let code): code
        case .certificate(let code): Int32(clamping: code)
        case .proxy(let reply): Int32(clamping: reply)
        }
    }
}
