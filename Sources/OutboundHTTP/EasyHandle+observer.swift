// One of the four files that touch libcurl's pointers: the callbacks of one transfer.

import CLibCurl
import Glibc

extension EasyHandle {
    /// Sets the callbacks of this handle to methods of `transfer`. They are called from inside libcurl functions, and must not call a
    /// function of the multi handle (`CURLM_RECURSIVE_API_CALL`), directly or indirectly.
    // SAFETY: the transfer is not retained. It owns this handle and releases it only after it was removed from the multi handle, so it
    // outlives every callback. The buffers are valid during each callback.
    func observe(by transfer: RunningTransfer) throws(OutboundError) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        try check(
            gateway_curl_set_write_callback(
                pointer, CURLOPT_HEADERFUNCTION,
                { bytes, size, count, context in
                    let isWanted = RunningTransfer.of(context).received(
                        headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count))
                    return isWanted ? size * count : 0
                }))
        try check(
            gateway_curl_set_write_callback(
                pointer, CURLOPT_WRITEFUNCTION,
                { bytes, size, count, context in
                    let isWanted = RunningTransfer.of(context).received(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
                    return isWanted ? size * count : 0
                }))
        try check(
            gateway_curl_set_open_socket_callback(pointer) { context, _, address in
                guard let address else { return CURL_SOCKET_BAD }
                return RunningTransfer.of(context).openSocket(address)
            })
        try check(
            gateway_curl_set_before_request_callback(pointer) { context, address, _, _, _ in
                let isAllowed = RunningTransfer.of(context).willSendRequest(to: address.map { String(cString: $0) } ?? "")
                return isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            })
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA] {
            try check(gateway_curl_set_pointer(pointer, option, context))
        }
    }
}

extension RunningTransfer {
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> RunningTransfer {
        guard let context else { preconditionFailure("libcurl lost a callback's context") }
        return Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let allowed = withUnsafePointer(to: &address.pointee.addr) { mayConnect(to: IPAddress($0)) }
        guard allowed else { return CURL_SOCKET_BAD }
        // SOCK_CLOEXEC: child processes must not inherit it.
        return socket(address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    }
}
