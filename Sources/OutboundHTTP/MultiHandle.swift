// One of the four files that touch libcurl's pointers: the handle that runs all transfers.

import CLibCurl

/// Owns libcurl's multi handle, which runs all transfers of a client and shares their connections. Use only on the client's thread.
///
/// libcurl calls `onSocket` and `onTimer` from inside the other functions and refuses recursive calls, so these closures must not call any
/// method of this class.
// SAFETY: the handle is made and freed here; it holds an unretained pointer to this object, which frees it in `deinit`. All easy handles
// are removed before that: the code that adds one removes it.
final class MultiHandle {
    /// What libcurl wants of a socket from now on.
    enum SocketChange {
        case watch(read: Bool, write: Bool)
        case remove
    }

    private let pointer: UnsafeMutableRawPointer
    private let onSocket: (Int32, SocketChange) -> Void
    private let onTimer: (Int) -> Void

    init(
        _ configuration: OutboundConfiguration, onSocket: @escaping (Int32, SocketChange) -> Void, onTimer: @escaping (Int) -> Void
    ) throws(OutboundError) {
        guard Self.isLibraryReady, let pointer = curl_multi_init() else { throw OutboundError(.other, "curl_multi_init failed") }
        self.pointer = pointer
        self.onSocket = onSocket
        self.onTimer = onTimer
        try set(CURLMOPT_MAXCONNECTS, configuration.idleConnections)
        try set(CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost ?? 0)
        try set(CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(
            gateway_curl_multi_set_socket_callback(
                pointer,
                { _, descriptor, what, context, _ in
                    MultiHandle.of(context).socketChanged(descriptor, what)
                    return 0
                }, context))
        try check(
            gateway_curl_multi_set_timer_callback(
                pointer,
                { _, milliseconds, context in
                    MultiHandle.of(context).onTimer(milliseconds)
                    return 0
                }, context))
    }

    deinit {
        curl_multi_cleanup(pointer)
    }

    func add(_ handle: EasyHandle) throws(OutboundError) { try check(curl_multi_add_handle(pointer, handle.pointer)) }

    func remove(_ handle: EasyHandle) { curl_multi_remove_handle(pointer, handle.pointer) }

    /// Tells libcurl that a socket is ready. libcurl ignores descriptors that are not its own.
    func act(on descriptor: Int32, canRead: Bool, canWrite: Bool, hasFailed: Bool) {
        var running: Int32 = 0
        let mask = (canRead ? CURL_CSELECT_IN : 0) | (canWrite ? CURL_CSELECT_OUT : 0) | (hasFailed ? CURL_CSELECT_ERR : 0)
        curl_multi_socket_action(pointer, descriptor, mask, &running)
    }

    /// Tells libcurl that the timer which it set by `onTimer` has expired.
    func timeout() {
        var running: Int32 = 0
        curl_multi_socket_action(pointer, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    /// The next transfer that has ended since the last call, by its easy handle; nil when there is none.
    func nextEnd() -> (handle: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        // The message is valid until the next libcurl call, so it is copied here.
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            return (handle, message.pointee.data.result)
        }
        return nil
    }

    private func socketChanged(_ descriptor: Int32, _ what: Int32) {
        switch what {
        case CURL_POLL_IN: onSocket(descriptor, .watch(read: true, write: false))
        case CURL_POLL_OUT: onSocket(descriptor, .watch(read: false, write: true))
        case CURL_POLL_INOUT: onSocket(descriptor, .watch(read: true, write: true))
        default: onSocket(descriptor, .remove)
        }
    }

    private func set(_ option: CURLMoption, _ value: Int) throws(OutboundError) {
        try check(gateway_curl_multi_set_long(pointer, option, value))
    }

    private func check(_ code: CURLMcode) throws(OutboundError) {
        guard code != CURLM_OK else { return }
        throw OutboundError(.other, String(cString: curl_multi_strerror(code)))
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> MultiHandle {
        guard let context else { preconditionFailure("libcurl lost a callback's context") }
        return Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    }

    /// Initializes libcurl once in the process; thread-safe since libcurl 7.84.
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
