/// Encodes a request as HTTP/1.1 (RFC 9112). Pure.
enum RequestEncoder {
    /// Nil when a header is malformed.
    static func encode(_ request: TransferRequest, to url: TransferURL) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512 + (request.body?.count ?? 0))
        bytes += "\(request.body == nil ? "GET" : "POST") \(url.target) HTTP/1.1\r\nHost: \(url.origin.authority)\r\n".utf8
        for header in request.headers {
            guard !header.isMalformed else { return nil }
            bytes += "\(header.name): \(header.value)\r\n".utf8
        }
        if let body = request.body { bytes += "Content-Length: \(body.count)\r\n".utf8 }
        bytes += "\r\n".utf8
        if let body = request.body { bytes += body }
        return bytes
    }
}
