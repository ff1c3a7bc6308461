/// Writes a request as it goes over the wire (RFC 9112). Pure.
enum RequestEncoder {
    /// nil: a header holds a control character.
    static func encode(_ request: TransferRequest, to address: TransferAddress, through proxy: Proxy?) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512 + (request.body?.count ?? 0))
        // A proxy is told the whole address; through a tunnel the server is asked as if there were none (§3.2).
        let isForwarded = proxy != nil && !address.origin.isSecure
        let host = address.origin.authority(withDefaultPort: false)
        bytes += "\(request.body == nil ? "GET" : "POST") \(isForwarded ? "http://\(host)" : "")\(address.target) HTTP/1.1\r\n".utf8
        bytes += "Host: \(host)\r\n".utf8
        if isForwarded, let proxy { bytes += proxy.authorizationField.utf8 }
        for header in request.headers {
            let line = "\(header.name): \(header.value)"
            guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            bytes += line.utf8
            bytes += "\r\n".utf8
        }
        if let body = request.body { bytes += "Content-Length: \(body.count)\r\n".utf8 }
        bytes += "\r\n".utf8
        if let body = request.body { bytes += body }
        return bytes
    }

    /// Asks a proxy for a tunnel (RFC 9110 §9.3.6).
    static func tunnel(to origin: Origin, through proxy: Proxy) -> [UInt8] {
        let place = origin.authority(withDefaultPort: true)
        return Array("CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n\(proxy.authorizationField)\r\n".utf8)
    }
}
