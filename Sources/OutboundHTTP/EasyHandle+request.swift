import CLibCurl

extension EasyHandle {
    /// Sets everything that a request needs.
    /// - Parameter addresses: numeric, by host and port, which libcurl is to use for those names instead of looking them up.
    func prepare(_ prepared: PreparedRequest, addresses: [(host: String, port: Int, addresses: [String])]) throws(OutboundError) {
        try set(CURLOPT_URL, prepared.target.text)
        try setProtocol(prepared)
        try setMethod(prepared.request)
        try set(CURLOPT_HTTPHEADER, lines: prepared.headerLines)
        try setProxy(prepared)
        try setTrust(prepared)
        try setConnection(prepared)
        // With "+" they age as looked up ones do. Permanent ones would stay for all later transfers.
        let lines = addresses.map { entry in
            "+\(entry.host):\(entry.port):\(entry.addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ","))"
        }
        try set(CURLOPT_RESOLVE, lines: lines)
    }

    private func setProtocol(_ prepared: PreparedRequest) throws(OutboundError) {
        // Without this libcurl changes signal handlers for each chunk.
        try set(CURLOPT_NOSIGNAL, true)
        // file:// is allowed by default. Redirects are not followed here.
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, false)
        // No content coding is requested; one that is sent nevertheless is delivered as it is.
        try set(CURLOPT_HTTP_CONTENT_DECODING, false)
        // Without a certificate-bound ALPN there is no HTTP/2: plain connections stay with HTTP/1.1.
        let version = if case .http2 = prepared.request.version { CURL_HTTP_VERSION_2TLS } else { CURL_HTTP_VERSION_1_1 }
        try set(CURLOPT_HTTP_VERSION, Int(version))
        try set(CURLOPT_PIPEWAIT, prepared.isPipelined)
    }

    private func setMethod(_ request: OutboundRequest) throws(OutboundError) {
        switch (request.method, request.body) {
        case (.get, nil): try set(CURLOPT_HTTPGET, true)
        case (.head, _): try set(CURLOPT_NOBODY, true)
        case (let method, let body):
            if body != nil || method == .post {
                try set(CURLOPT_POST, true)
                try set(body: body ?? [])
            }
            try set(CURLOPT_CUSTOMREQUEST, method.name)
        }
    }

    private func setProxy(_ prepared: PreparedRequest) throws(OutboundError) {
        // Always set: otherwise libcurl reads the environment. The exceptions were applied before.
        try set(CURLOPT_PROXY, prepared.proxy?.address.url ?? "")
        try set(CURLOPT_NOPROXY, "")
        // Request headers are not for the proxy, and its headers are not the response's.
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        let authentication =
            switch prepared.proxy?.authentication ?? .basic {
            case .basic: GATEWAY_CURL_AUTH_BASIC
            case .ntlm: GATEWAY_CURL_AUTH_NTLM
            case .negotiate: GATEWAY_CURL_AUTH_NEGOTIATE
            }
        try set(CURLOPT_PROXYAUTH, Int(authentication))
        try set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_PROXY_CAPATH, nil)
        if let file = prepared.proxy?.authorityFile { try set(CURLOPT_PROXY_CAINFO, file) }
    }

    private func setTrust(_ prepared: PreparedRequest) throws(OutboundError) {
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // Debian's default directory disables libcurl's cache of authorities: 22 ms of CPU for each connection instead of 1.5.
        try set(CURLOPT_CAPATH, nil)
        if let file = prepared.request.authorityFile { try set(CURLOPT_CAINFO, file) }
        if let certificate = prepared.request.certificate {
            try set(CURLOPT_SSLCERT_BLOB, blob: certificate.chain)
            try set(CURLOPT_SSLKEY_BLOB, blob: certificate.key)
        }
    }

    private func setConnection(_ prepared: PreparedRequest) throws(OutboundError) {
        // Its timer is not obeyed while a transfer waits for a connection, so the transfer has one of its own beside it; libcurl divides
        // this one among a host's addresses.
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, prepared.request.limits.connect.wholeMilliseconds))
        // A transfer that is removed while libcurl itself looks a name up must not wait for the lookup's end.
        try set(CURLOPT_QUICK_EXIT, true)
        try set(CURLOPT_FRESH_CONNECT, !prepared.request.mayUseKeptConnection)
        try set(CURLOPT_TCP_KEEPALIVE, true)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 10)
        // Or a server that moved is never noticed while requests come often enough.
        try set(CURLOPT_MAXLIFETIME_CONN, 600)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
