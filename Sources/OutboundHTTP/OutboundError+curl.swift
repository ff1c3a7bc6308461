import CLibCurl

/// What libcurl reports about a transfer that ended.
struct CurlResult {
    var code: CURLcode
    /// From the handle's error buffer, or the code's text.
    var message: String
    /// `CURLINFO_OS_ERRNO`.
    var systemError = 0
    /// `CURLINFO_SSL_VERIFYRESULT` of the server or the proxy.
    var certificateError = 0
    /// `CURLINFO_HTTP_CONNECTCODE`: the proxy's status in answer to CONNECT; 0: none.
    var tunnelStatus = 0
    /// `CURLINFO_PROXY_ERROR`: the reply of a SOCKS proxy (`CURLproxycode`).
    var socksError = 0
    /// Whether the request was given to a connection.
    var isConnected = false
    /// Whether any byte of a response arrived.
    var hasBegun = false
}

extension OutboundError {
    /// The error for a result; nil when the transfer was successful.
    static func of(_ result: CurlResult) -> OutboundError? {
        guard result.code != CURLE_OK else { return nil }
        let curl = Cause.curl(code: result.code.rawValue, errno: result.systemError)
        // First, because libcurl reports a tunnel that the proxy refused with the code of any broken connection.
        if result.tunnelStatus != 0, result.tunnelStatus / 100 != 2 {
            return OutboundError(.proxy, "the proxy answered \(result.tunnelStatus)", cause: .proxy(result.tunnelStatus))
        }
        switch result.code {
        case CURLE_PROXY: return OutboundError(.proxy, result.message, cause: .proxy(result.socksError))
        case CURLE_PEER_FAILED_VERIFICATION where result.certificateError != 0:
            return OutboundError(.tls, result.message, cause: .certificate(result.certificateError))
        // The only time limit given to libcurl is that for connecting; `total` is a timer of `RunningTransfer`.
        case CURLE_OPERATION_TIMEDOUT: return OutboundError(.connectTimeout, result.message, cause: curl)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            return OutboundError(!result.isConnected ? .connect : result.hasBegun ? .cut : .unanswered, result.message, cause: curl)
        default: return OutboundError(codes[result.code.rawValue] ?? (result.isConnected ? .cut : .other), result.message, cause: curl)
        }
    }

    private static let codes: [UInt32: Code] = [
        CURLE_UNSUPPORTED_PROTOCOL.rawValue: .malformedResponse,  // HTTP/0.9; another scheme is refused before
        CURLE_WEIRD_SERVER_REPLY.rawValue: .malformedResponse,
        CURLE_BAD_CONTENT_ENCODING.rawValue: .malformedResponse,
        CURLE_URL_MALFORMAT.rawValue: .invalidRequest,
        CURLE_BAD_FUNCTION_ARGUMENT.rawValue: .invalidRequest,
        CURLE_COULDNT_RESOLVE_HOST.rawValue: .resolve,
        CURLE_COULDNT_RESOLVE_PROXY.rawValue: .resolve,
        CURLE_COULDNT_CONNECT.rawValue: .connect,
        CURLE_ABORTED_BY_CALLBACK.rawValue: .forbiddenAddress,  // only the callback before the request aborts
        CURLE_SSL_CONNECT_ERROR.rawValue: .tls,
        CURLE_PEER_FAILED_VERIFICATION.rawValue: .tls,
        CURLE_SSL_CIPHER.rawValue: .tls,
        CURLE_SSL_CERTPROBLEM.rawValue: .invalidRequest,
        CURLE_SSL_CACERT_BADFILE.rawValue: .invalidRequest,
        CURLE_PARTIAL_FILE.rawValue: .cut,
    ]
}
