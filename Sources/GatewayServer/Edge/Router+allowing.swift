import HTTPTypes
import Hummingbird

extension RouterMethods where Context == GatewayContext {
    /// Registers the handlers of a path, and for every other method the answer 405 with `Allow`.
    func route(
        _ path: RouterPath, _ handlers: [HTTPRequest.Method: @Sendable (Request, GatewayContext) async throws -> Response]
    ) {
        let allowed = handlers.keys.map(\.rawValue).sorted().joined(separator: ", ")
        for method in HTTPRequest.Method.parsed {
            if let handler = handlers[method] {
                on(path, method: method, use: handler)
            } else {
                on(path, method: method) { _, _ -> Response in
                    var error = GatewayError(.methodNotAllowed, "this route does not take the method")
                    error.headers.append(("Allow", allowed))
                    throw error
                }
            }
        }
    }
}

extension HTTPRequest.Method {
    /// Every method that NIO's parser lets through but OPTIONS, which is answered for all routes alike: the others never get here.
    fileprivate static let parsed = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "M-SEARCH",
        "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "PROPFIND", "PROPPATCH", "PURGE", "REBIND", "REPORT", "SEARCH",
        "SOURCE", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
    ].compactMap { HTTPRequest.Method($0) }
}

extension Request {
    /// Bodies beyond it are refused (CONTRACT §2).
    static let maximumBodyBytes = 256 * 1024

    /// The whole body, refused with 413 before it is read when it says itself that it is too large.
    func collectBytes() async throws -> [UInt8] {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > Self.maximumBodyBytes {
            throw GatewayError(.tooLarge, "the request's body is larger than 256 KiB")
        }
        let buffer = try await body.collect(upTo: Self.maximumBodyBytes)
        return Array(buffer.readableBytesView)
    }
}
