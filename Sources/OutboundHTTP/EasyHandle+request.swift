import CLibCurl

extension EasyHandle {
    /// Sets all libcurl options of a request.
    /// - Parameter addresses: numeric addresses by host and port, which libcurl uses instead of looking the names up.
    func prepare(_ prepared: PreparedRequest, addresses: [(host: String, port: Int, addresses: [String])]) throws(OutboundError) {
        try set(CURLOPT_URL, prepared.target.text)
        try setProtocol(prepared)
        try setMethod(prepared.request)
        try set(CURLOPT_HTTPHEADER, lines: prepared.headerLines)
        try setProxy(prepared)
        try setTrust(prepared)
        try setConnection(prepared)
        // With "+" they expire like looked-up ones. Without it they would stay in libcurl's cache for all later transfers.
        let lines = addresses.map { entry in
            "+\(entry.host):\(entry.port):\(entry.addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ","))"
        }
        try set(CURLOPT_RESOLVE, lines: lines)
    }

    private func setProtocol(_ prepared: PreparedRequest) throws(OutboundError) {
        // Otherwise libcurl changes the process's signal handlers for each chunk.
        try set(CURLOPT_NOSIGNAL, true)
        // file:// is allowed by default. Redirects are not followed here.
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, false)
        // No content coding is requested; one that is sent nevertheless is delivered as it is.
        try set(CURLOPT_HTTP_CONTENT_DECODING, false)
        // HTTP/2 is negotiated by ALPN, so only over TLS; plain connections use HTTP/1.1.
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
        // Always set, because otherwise libcurl reads the environment. `no_proxy` was applied before.
        try set(CURLOPT_PROXY, prepared.proxy?.address.url ?? "")
        try set(CURLOPT_NOPROXY, "")
        // Do not send request headers to the proxy, nor report its headers as the response's.
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
        // libcurl divides this limit among a host's addresses, but ignores it while a transfer waits for a connection: for that
        // `RunningTransfer` has a timer of its own.
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, prepared.request.limits.connect.wholeMilliseconds))
        // Removing a transfer while libcurl looks up a name must not wait for the lookup.
        try set(CURLOPT_QUICK_EXIT, true)
        try set(CURLOPT_FRESH_CONNECT, !prepared.request.mayUseKeptConnection)
        try set(CURLOPT_TCP_KEEPALIVE, true)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 10)
        // Seconds. Otherwise frequent requests would keep a connection to an old address after a server has moved.
        try set(CURLOPT_MAXLIFETIME_CONN, 600)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
