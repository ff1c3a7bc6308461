import NIOHTTP1

/// Why a request is rejected before routing: invalid HTTP, or too slow. `ErrorMapping` maps it to the client's error.
enum RequestFault: Error, Equatable {
    /// Not HTTP/1.x, or invalid in its head, its chunks or its end.
    case malformed
    /// The head exceeds `ConnectionLimits.headBytes` or `headFields`.
    case headTooLarge
    /// The head was not complete within its time limit.
    case headTooSlow
    /// The body was not complete within its time limit.
    case bodyTooSlow
    /// No `Host` field, more than one, or an invalid one (RFC 9112 §3.2).
    case host
    /// An ambiguous length: `Transfer-Encoding` together with `Content-Length`, twice chunked, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferEncoding
    /// A transfer coding other than chunked (RFC 9112 §6.1: 501).
    case transferCoding
}

extension RequestFault {
    /// Checks a head that the decoder accepted; nil when it has no fault.
    init?(in head: HTTPRequestHead) {
        let isHTTP10 = head.version == .http1_0
        let hosts = head.headers["host"]
        // HTTP/1.0 has no Host, and load balancers request `/readyz` without one.
        if hosts.count > 1 || (hosts.isEmpty && !isHTTP10) || !hosts.allSatisfy(Self.isHost) {
            self = .host
            return
        }
        let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
        guard !codings.isEmpty || head.headers.contains(name: "transfer-encoding") else { return nil }
        if isHTTP10 || head.headers.contains(name: "content-length") || codings.filter({ $0 == "chunked" }).count != 1 {
            self = .transferEncoding
        } else if codings.count > 1 {
            self = .transferCoding
        } else {
            return nil
        }
    }

    /// `uri-host [":" port]` (RFC 3986 §3.2.2). An http URI has a host that is not empty (RFC 9110 §4.2.1).
    private static func isHost(_ value: String) -> Bool {
        let bytes = value.utf8
        let isAddress = bytes.first == UInt8(ascii: "[")
        guard let end = isAddress ? bytes.firstIndex(of: UInt8(ascii: "]")) : bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        else { return false }
        let name = isAddress ? bytes[..<end].dropFirst() : bytes[..<end]
        let port = isAddress ? bytes[end...].dropFirst() : bytes[end...]
        return !name.isEmpty && name.allSatisfy(isAddress ? isOfAddress : isOfName)
            && (port.isEmpty || port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(isDigit))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether an IP address of version 6 may have this byte.
    private static func isOfAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."): true
        default: isDigit(byte)
        }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isDigit(byte) || "-._~!$&'()*+,;=%".utf8.contains(byte)
        }
    }
}
