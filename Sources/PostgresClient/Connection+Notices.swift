import CLibPQ

/// A message of the server or libpq beside the results: NOTICE, WARNING and the like.
public struct PostgresNotice: Sendable {
    public let severity: String
    public let sqlState: String?
    /// In the server's words. May quote values, as far as statements raise such notices.
    public let message: String
}

extension Connection {
    /// By default libpq prints notices on stderr.
    func passNoticesOn() {
        // SAFETY: libpq calls the receiver only inside calls on this handle, which this connection makes and outlives: it finishes the handle
        // in `dropHandle` or `deinit`.
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context else { return }
                Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().received(notice: result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func received(notice result: OpaquePointer?) {
        guard let onNotice = configuration.onNotice else { return }
        func field(_ code: UInt8) -> String? { PQresultErrorField(result, Int32(code)).map { String(cString: $0) } }
        onNotice(
            PostgresNotice(
                severity: field(UInt8(ascii: "V")) ?? "NOTICE", sqlState: field(UInt8(ascii: "C")), message: field(UInt8(ascii: "M")) ?? "")
        )
    }
}
