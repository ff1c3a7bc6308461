// The only file that touches libcurl's pointers.
//
// SAFETY, for all of it: a `CurlMulti` and its `CurlEasy`s are used on one thread, the reactor's (their owner, `TransferDriver`, is confined
// to it), which is what libcurl asks for. Callbacks run only inside calls of this file. Each object owns its handle: created in `init`, freed
// in `deinit`, never handed out. An easy handle is freed or reset only after it was taken from its multi.

import CLibCurl
import Reactor

/// Receives what a transfer brings, in the middle of a call into libcurl: it may store, and nothing else.
protocol CurlReceiver: AnyObject {
    func received(headerLine: UnsafeRawBufferPointer)
    func received(body: UnsafeRawBufferPointer)
}

/// Told what libcurl wants to wait for, in the middle of a call into libcurl.
protocol CurlWaiter: AnyObject {
    /// nil: the descriptor is of no interest any more. `isNew`: libcurl has not spoken of this descriptor since it was opened.
    func wait(for interest: Interest?, on descriptor: Int32, isNew: Bool)
    /// Call `timeout()` after so many milliseconds; nil: not at all.
    func wait(milliseconds: Int?)
}

/// Once per process; thread-safe because a static is.
enum CurlLibrary {
    static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Whether a cancelled HTTP/2 transfer is reset at once. From 7.88.0 on the reset stayed in a buffer, so the peer went on sending (and
    /// billing); repaired in 8.15.0 (curl issue 17611, request 17638; seen here with 7.88.1).
    static let resetsCancelledStreams: Bool = curl_version_info(CURLVERSION_FIRST).map { $0.pointee.version_num >= 0x08_0F_00 } ?? false
}

/// Many transfers driven by readiness.
final class CurlMulti {
    private let handle: UnsafeMutableRawPointer
    weak var waiter: (any CurlWaiter)?

    /// - Parameter idleConnections: kept open for the next request.
    init?(idleConnections: Int) {
        guard CurlLibrary.isReady, let handle = curl_multi_init() else { return nil }
        self.handle = handle
        // SAFETY: unretained is enough, because `deinit` frees the handle, after which nothing calls back.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = gateway_curlm_set_pointer(handle, CURLMOPT_SOCKETDATA, context)
        _ = gateway_curlm_set_pointer(handle, CURLMOPT_TIMERDATA, context)
        _ = gateway_curlm_set_socket_function(handle) { _, descriptor, what, context, mark in
            guard let context else { return 0 }
            let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
            multi.socketChanged(descriptor, what, isNew: mark == nil)
            return 0
        }
        _ = gateway_curlm_set_timer_function(handle) { _, milliseconds, context in
            guard let context else { return 0 }
            Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue().waiter?
                .wait(milliseconds: milliseconds < 0 ? nil : milliseconds)
            return 0
        }
        _ = gateway_curlm_set_long(handle, CURLMOPT_MAXCONNECTS, idleConnections)
    }

    deinit {
        curl_multi_cleanup(handle)
    }

    func add(_ easy: CurlEasy) -> Bool {
        curl_multi_add_handle(handle, easy.handle) == CURLM_OK
    }

    func remove(_ easy: CurlEasy) {
        curl_multi_remove_handle(handle, easy.handle)
    }

    /// A descriptor became ready.
    func ready(_ descriptor: Int32, _ readiness: Readiness) {
        var bits: Int32 = 0
        if readiness.contains(.readable) { bits |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { bits |= CURL_CSELECT_OUT }
        if readiness.contains(.failed) { bits |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        curl_multi_socket_action(handle, descriptor, bits, &running)
    }

    /// The time that libcurl asked for has passed.
    func timeout() {
        var running: Int32 = 0
        curl_multi_socket_action(handle, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    /// The next transfer that ended by itself, and how.
    func nextFinished() -> (id: CurlEasy.ID, end: TransferEnd)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = gateway_curl_result(message)
            return (CurlEasy.ID(handle: easy), code == CURLE_OK ? .complete : .failed(TransferFailure(code)))
        }
        return nil
    }

    private func socketChanged(_ descriptor: Int32, _ what: Int32, isNew: Bool) {
        switch what {
        case CURL_POLL_REMOVE:
            waiter?.wait(for: nil, on: descriptor, isNew: false)
            return
        case CURL_POLL_IN: waiter?.wait(for: .read, on: descriptor, isNew: isNew)
        case CURL_POLL_OUT: waiter?.wait(for: .write, on: descriptor, isNew: isNew)
        case CURL_POLL_INOUT: waiter?.wait(for: [.read, .write], on: descriptor, isNew: isNew)
        default: waiter?.wait(for: [], on: descriptor, isNew: isNew)
        }
        // The mark is only compared with nil. libcurl forgets it together with the descriptor.
        if isNew { curl_multi_assign(handle, descriptor, handle) }
    }
}

/// One transfer's handle. Used again after `reset()`, because it keeps TLS sessions and buffers.
final class CurlEasy {
    /// Tells transfers apart.
    struct ID: Hashable {
        fileprivate let handle: UnsafeMutableRawPointer
    }

    fileprivate let handle: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
    private weak var receiver: (any CurlReceiver)?

    var id: ID { ID(handle: handle) }

    init?() {
        guard CurlLibrary.isReady, let handle = curl_easy_init() else { return nil }
        self.handle = handle
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headers)
    }

    func reset() {
        curl_easy_reset(handle)
        curl_slist_free_all(headers)
        headers = nil
        receiver = nil
    }

    func prepare(_ request: TransferRequest, _ configuration: TransferConfiguration, for receiver: any CurlReceiver) throws(TransferFailure)
    {
        self.receiver = receiver
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try setReceivers()
        try setHeaders(request.headers)
        if let body = request.body { try setBody(body) }
        let isHTTP2 = configuration.allowsHTTP2 && CurlLibrary.resetsCancelledStreams
        try set(CURLOPT_HTTP_VERSION, isHTTP2 ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = request.authorityFile { try set(CURLOPT_CAINFO, file) }
        try set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 10)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // An empty name means none; without the option libcurl asks the environment.
        if configuration.proxy == .none || LoopbackAddress.isHost(of: request.url) { try set(CURLOPT_PROXY, "") }
        try set(CURLOPT_NOSIGNAL, 1)
        // A name that takes long to resolve must not hold up the thread: without this, giving it up waits for the resolver's thread (4.7 s
        // measured with a resolver that slept 5 s). The thread then cleans up behind itself. Before 7.87 the option is unknown: no error.
        _ = gateway_curl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
    }

    private func setReceivers() throws(TransferFailure) {
        // SAFETY: unretained is enough: the handle is removed from its multi before this object is let go, and only then calls end.
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(gateway_curl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(gateway_curl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(
            gateway_curl_set_receiver(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                Unmanaged<CurlEasy>.fromOpaque(context).takeUnretainedValue().receiver?.received(headerLine: line)
                return size * count
            })
        try check(
            gateway_curl_set_receiver(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
                Unmanaged<CurlEasy>.fromOpaque(context).takeUnretainedValue().receiver?.received(body: body)
                return size * count
            })
    }

    private func setHeaders(_ fields: [TransferHeader]) throws(TransferFailure) {
        // Without the empty `Expect`, a large body would wait for a `100 Continue`.
        for line in fields.map({ "\($0.name): \($0.value)" }) + ["Expect:"] {
            guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw TransferFailure(CURLE_BAD_FUNCTION_ARGUMENT) }
            guard let longer = curl_slist_append(headers, line) else { throw TransferFailure.outOfMemory }
            headers = longer
        }
        try check(gateway_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headers))
    }

    private func setBody(_ body: [UInt8]) throws(TransferFailure) {
        try check(gateway_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
        let code = body.withUnsafeBytes { bytes in
            // SAFETY: libcurl copies the bytes before it returns, and only reads them. An empty body needs an address too.
            bytes.baseAddress.map { gateway_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0)) }
                ?? gateway_curl_set_text(handle, CURLOPT_COPYPOSTFIELDS, "")
        }
        try check(code)
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransferFailure) {
        try check(gateway_curl_set_text(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransferFailure) {
        try check(gateway_curl_set_long(handle, option, value))
    }

    private func check(_ code: CURLcode) throws(TransferFailure) {
        guard code == CURLE_OK else { throw TransferFailure(code) }
    }
}

extension TransferFailure {
    static var outOfMemory: TransferFailure { TransferFailure(CURLE_OUT_OF_MEMORY) }

    init(_ code: CURLcode) {
        let kind: Kind =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
            case CURLE_COULDNT_CONNECT, CURLE_PROXY: .connect
            case CURLE_OPERATION_TIMEDOUT: .connectTimeout
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                .tls
            case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM: .cut
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_CRL_BADFILE:
                .request
            default: .other
            }
        self.init(kind: kind, code: code.rawValue)
    }
}
