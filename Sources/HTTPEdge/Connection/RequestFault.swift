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

    /// The characters of `uri-host [":" port]` (RFC 3986 §3.2.2). An http URI has a host that is not empty (RFC 9110 §4.2.1).
    private static func isHost(_ value: String) -> Bool {
        guard let first = value.utf8.first, first != UInt8(ascii: ":") else { return false }
        return value.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._~!$&'()*+,;=:[]%".utf8.contains(byte)
            }
        }
    }
}
