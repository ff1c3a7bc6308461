// One of the four files that touch libcurl's pointers: its parser of URLs.

import CLibCurl

/// A URL parsed by libcurl's own parser, so that the checks see the same host as the transfer.
// SAFETY: the `CURLU` exists during `init` only; each part is copied and freed at once.
struct ParsedURL: Equatable {
    let scheme: String
    /// In lower case; a name, or an address without brackets. The parser turns forms such as `0x7f.1` into usual addresses.
    let host: String
    let port: Int
    /// The URL normalized by libcurl, without the fragment.
    let text: String
    let hasCredentials: Bool
    /// Whether it has no path but `/`, and no query.
    let isBare: Bool

    /// Nil when the URL is malformed, not ASCII, or has another scheme.
    /// - Parameter defaultPorts: the accepted schemes, with the default port of each.
    init?(_ url: String, defaultPorts: [String: Int]) {
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parser = curl_url() else { return nil }
        defer { curl_url_cleanup(parser) }
        guard curl_url_set(parser, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            curl_url_set(parser, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK
        else { return nil }
        func part(_ what: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(parser, what, &text, 0) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard let scheme = part(CURLUPART_SCHEME)?.lowercased(), let defaultPort = defaultPorts[scheme],
            let host = part(CURLUPART_HOST)?.lowercased(), !host.isEmpty, let text = part(CURLUPART_URL)
        else { return nil }
        guard let port = part(CURLUPART_PORT).map({ Int($0) }) ?? defaultPort, (1...65535).contains(port) else { return nil }
        self.scheme = scheme
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        self.port = port
        self.text = text
        isBare = part(CURLUPART_PATH) == "/" && part(CURLUPART_QUERY) == nil
        hasCredentials = part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
    }
}

/// The URL of a request: absolute, `http` or `https`, without credentials.
struct TargetURL: Equatable {
    let isSecure: Bool
    /// In lower case; a name, or an address without brackets.
    let host: String
    let port: Int
    /// The URL normalized by libcurl.
    let text: String

    /// - Throws: `OutboundError` (`invalidRequest`).
    init(_ url: String) throws(OutboundError) {
        guard let parsed = ParsedURL(url, defaultPorts: ["http": 80, "https": 443]) else {
            throw OutboundError(.invalidRequest, "the URL is no absolute http or https URL")
        }
        guard !parsed.hasCredentials else { throw OutboundError(.invalidRequest, "the URL has credentials") }
        isSecure = parsed.scheme == "https"
        host = parsed.host
        port = parsed.port
        text = parsed.text
    }
}
