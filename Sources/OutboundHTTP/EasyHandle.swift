// One of the four files that touch libcurl's pointers: one transfer's handle.

import CLibCurl

/// Owns libcurl's handle of one transfer (`CURL`), and the lists and the buffer to which it points. Use only on the client's thread.
// SAFETY: the handle, its lists and its error buffer are made and freed here. libcurl uses the lists and the error buffer until the
// handle's cleanup, which comes first in `deinit`; it copies strings, bodies and blobs. The handle must have been removed from its multi
// handle before `deinit`: the code that adds it keeps the object until then.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private let message: UnsafeMutablePointer<CChar>

    init() throws(OutboundError) {
        guard let pointer = curl_easy_init() else { throw OutboundError(.other, "curl_easy_init failed") }
        self.pointer = pointer
        message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try check(gateway_curl_set_pointer(pointer, CURLOPT_ERRORBUFFER, message))
    }

    deinit {
        curl_easy_cleanup(pointer)
        for list in lists { curl_slist_free_all(list) }
        message.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) throws(OutboundError) { try check(gateway_curl_set_long(pointer, option, value)) }

    func set(_ option: CURLoption, _ value: Bool) throws(OutboundError) { try set(option, value ? 1 : 0) }

    /// Nil resets the option.
    func set(_ option: CURLoption, _ value: String?) throws(OutboundError) {
        try check(gateway_curl_set_string(pointer, option, value))
    }

    func set(_ option: CURLoption, lines: [String]) throws(OutboundError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                throw OutboundError(.other, "out of memory")
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        try check(gateway_curl_set_list(pointer, option, list))
    }

    /// PEM text.
    func set(_ option: CURLoption, blob bytes: [UInt8]) throws(OutboundError) {
        try check(
            bytes.withUnsafeBytes { buffer in
                var blob = curl_blob(
                    data: UnsafeMutableRawPointer(mutating: buffer.baseAddress), len: buffer.count, flags: UInt32(CURL_BLOB_COPY))
                return gateway_curl_set_blob(pointer, option, &blob)
            })
    }

    func set(body bytes: [UInt8]) throws(OutboundError) {
        try check(gateway_curl_set_offset(pointer, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)))
        // Without a pointer libcurl would read the body from a callback.
        guard !bytes.isEmpty else { return try set(CURLOPT_COPYPOSTFIELDS, "") }
        try check(
            bytes.withUnsafeBytes { buffer in
                gateway_curl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: buffer.baseAddress))
            })
    }

    func share(_ share: SessionShare) throws(OutboundError) {
        try check(gateway_curl_set_pointer(pointer, CURLOPT_SHARE, share.pointer))
    }

    /// Closes the connection when the transfer ends, instead of keeping it. Allowed inside callbacks.
    func closeConnectionAtEnd() { _ = gateway_curl_set_long(pointer, CURLOPT_FORBID_REUSE, 1) }

    /// Stops receiving until `resume`.
    func pause() { curl_easy_pause(pointer, CURLPAUSE_RECV) }

    /// Receives again; the callbacks may be called before this returns.
    func resume() { curl_easy_pause(pointer, CURLPAUSE_CONT) }

    /// Collects what libcurl reports about a transfer that ended with `code`.
    func result(_ code: CURLcode, isConnected: Bool, hasBegun: Bool) -> CurlResult {
        let text = String(cString: message)
        return CurlResult(
            code: code, message: text.isEmpty ? String(cString: curl_easy_strerror(code)) : text, systemError: number(CURLINFO_OS_ERRNO),
            certificateError: [number(CURLINFO_SSL_VERIFYRESULT), number(CURLINFO_PROXY_SSL_VERIFYRESULT)].first { $0 != 0 } ?? 0,
            tunnelStatus: number(CURLINFO_HTTP_CONNECTCODE), socksError: number(CURLINFO_PROXY_ERROR), isConnected: isConnected,
            hasBegun: hasBegun)
    }

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        return gateway_curl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    func check(_ code: CURLcode) throws(OutboundError) {
        guard code != CURLE_OK else { return }
        throw OutboundError(
            .invalidRequest, "an option was refused: \(String(cString: curl_easy_strerror(code)))",
            cause: .curl(code: code.rawValue, errno: 0))
    }
}

/// The cache of TLS sessions that all transfers of a client share, to resume them. Before libcurl 8.12 the easy handles of one multi handle
/// do not share it otherwise.
// SAFETY: freed after the handles that use it, because the driver, which owns it, outlives its transfers. It has no locks, because only one
// thread uses it.
final class SessionShare {
    fileprivate let pointer: UnsafeMutableRawPointer

    init() throws(OutboundError) {
        guard let pointer = curl_share_init() else { throw OutboundError(.other, "curl_share_init failed") }
        self.pointer = pointer
        guard gateway_curl_share(pointer, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
            throw OutboundError(.other, "TLS sessions cannot be shared")
        }
    }

    deinit {
        curl_share_cleanup(pointer)
    }
}
