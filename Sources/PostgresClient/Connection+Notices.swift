import CLibPQ

/// A NOTICE, WARNING or similar message of the server or of libpq, which is not an error.
public struct PostgresNotice: Sendable {
    public let severity: String
    public let sqlState: String?
    /// The server's text. May quote values, if a statement raises such a notice.
    public let message: String
}

extension Connection {
    /// Passes notices to `configuration.onNotice`. Without it they are dropped; libpq's default is to print them on stderr.
    func passNoticesOn() {
        // SAFETY: libpq calls the receiver only inside calls on this handle, which this connection makes and outlives: it finishes the
        // handle in `dropHandle` or `deinit`.
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
