import NIOHTTP1

/// Why a request is rejected before routing: not sound HTTP, or too slow. `ErrorMapping` has the client's errors.
enum RequestFault: Error, Equatable {
    /// Not HTTP/1.x, or broken in its head, its chunks or its end.
    case malformed
    /// More bytes or fields than a head may have.
    case headTooLarge
    /// The head did not become whole in time.
    case headTooSlow
    /// The body did not become whole in time.
    case bodyTooSlow
    /// No `Host`, two, or one that names no host (RFC 9112 §3.2).
    case host
    /// `Transfer-Encoding` beside `Content-Length`, twice chunked, or in HTTP/1.0 (RFC 9112 §6.1, §6.3).
    case transferEncoding
    /// A transfer coding besides chunked (RFC 9112 §6.1: 501).
    case transferCoding
}

extension RequestFault {
    /// The fault of a head that the decoder accepts; nil without one.
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

    /// The characters of `uri-host [":" port]` (RFC 3986 §3.2.2); an empty one is valid.
    private static func isHost(_ value: String) -> Bool {
        value.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._~!$&'()*+,;=:[]%".utf8.contains(byte)
            }
        }
    }
}
