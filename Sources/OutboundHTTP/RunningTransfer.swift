import CLibCurl
import Reactor

/// One running request: looks its names up, runs it in libcurl, and calls its handlers. Use only on the client's thread.
///
/// libcurl's callbacks only record what arrived. `deliver` and `ended`, which the driver calls after libcurl has returned, call the
/// handlers.
final class RunningTransfer {
    private enum Phase {
        /// Lookups of `missing` names are not yet answered.
        case resolving(missing: Int)
        case running(EasyHandle)
        case over
    }

    /// Bytes of buffer capacity that are kept between deliveries.
    private static let keptCapacity = 64 * 1024

    let id: UInt64
    private let prepared: PreparedRequest
    private let handlers: OutboundHandlers
    private unowned let driver: OutboundHTTPClientDriver
    private var phase = Phase.over
    private var addresses: [(host: String, port: Int, addresses: [String])] = []
    private var connectTimer: TimerHandle?
    private var totalTimer: TimerHandle?

    private var response: ResponseMachine
    /// Recorded by callbacks and not yet delivered.
    private var head: OutboundResponseHead?
    private var bytes: [UInt8] = []
    /// Why a callback ended the transfer; libcurl then reports a code of its own.
    private var failure: OutboundError?
    /// Whether the request was given to a connection.
    private var isConnected = false
    /// Whether the handler has paused the transfer.
    private var isPaused = false

    init(id: UInt64, _ prepared: PreparedRequest, _ handlers: OutboundHandlers, driver: OutboundHTTPClientDriver) {
        self.id = id
        self.prepared = prepared
        self.handlers = handlers
        self.driver = driver
        response = ResponseMachine(maximumBodyBytes: prepared.request.limits.responseBytes)
    }

    // MARK: Called by the driver

    /// Starts the time limits and the name lookups.
    func begin() {
        let limits = prepared.request.limits
        connectTimer = driver.reactor.schedule(after: limits.connect) { [self] in
            end(OutboundError(.connectTimeout, "no connection within \(limits.connect)"))
        }
        if let total = limits.total {
            totalTimer = driver.reactor.schedule(after: total) { [self] in end(OutboundError(.timeout, "no whole response within \(total)"))
            }
        }
        let names = prepared.namesToResolve
        phase = .resolving(missing: names.count)
        for name in names {
            driver.names.addresses(of: name.host) { [self] in resolved(name.host, name.port, $0) }
        }
    }

    /// Ends the transfer early with `error`.
    func end(_ error: OutboundError) {
        if case .running(let handle) = phase {
            // Over HTTP/2, libcurl before 8.15 sends the stream's reset only with the connection's next request; until then the server
            // continues the stream. So the connection is closed, when its other streams have ended.
            handle.closeConnectionAtEnd()
        }
        finish(error)
    }

    /// Continues after a pause. Not allowed inside a libcurl function.
    func resume() {
        guard isPaused, case .running(let handle) = phase else { return }
        isPaused = false
        handle.resume()
    }

    /// Passes what arrived to the handlers. Not allowed inside a libcurl function.
    func deliver() {
        if let head {
            self.head = nil
            handlers.head(head)
        }
        guard !bytes.isEmpty else { return }
        let demand = bytes.withUnsafeBytes(handlers.bytes)
        // A burst can be 1.6 MB, and a stream runs for long: do not keep that much capacity.
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        if case .pause = demand, !isPaused, case .running(let handle) = phase {
            isPaused = true
            handle.pause()
        }
    }

    /// libcurl has ended the transfer.
    func ended(_ code: CURLcode) {
        guard case .running(let handle) = phase else { return }
        let result = handle.result(code, isConnected: isConnected, hasBegun: response.hasBegun)
        if code == CURLE_OK, let open = response.finish() { head = open }
        deliver()
        finish(failure ?? OutboundError.of(result))
    }

    // MARK: Called inside libcurl functions: only record what arrived

    /// Returns false when libcurl must end the transfer, as the next three methods do.
    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        switch response.line(line) {
        case .goOn: break
        case .head(let head): note { self.head = head }
        case .tooLarge: return abort(OutboundError(.responseTooLarge, "the head of the response is too large"))
        case .malformed: return abort(OutboundError(.malformedResponse, "the head of the response is not valid HTTP"))
        }
        return true
    }

    func received(body: UnsafeRawBufferPointer) -> Bool {
        // `finish` resumes a paused transfer, and libcurl then passes what it has buffered: it is dropped.
        if case .over = phase { return true }
        let step = response.body(byteCount: body.count)
        guard !step.isTooLarge else {
            return abort(OutboundError(.responseTooLarge, "the response has more than \(prepared.request.limits.responseBytes) bytes"))
        }
        note {
            if let head = step.head { self.head = head }
            bytes += body
        }
        return true
    }

    func mayConnect(to address: IPAddress?) -> Bool {
        prepared.mayConnect(to: address) || abort(PreparedRequest.forbidden(prepared.target.host))
    }

    /// Called before the request is sent on a new or reused connection. Checks the address again, because a reused connection was opened by
    /// another request.
    func willSendRequest(to address: String) -> Bool {
        isConnected = true
        connectTimer?.cancel()
        return mayConnect(to: IPAddress(address))
    }

    // MARK: Private

    private func resolved(_ host: String, _ port: Int, _ answer: NameCache.Answer) {
        guard case .resolving(let missing) = phase else { return }
        switch answer {
        case .failure(let failure):
            end(OutboundError(.resolve, "\(host) has no address", cause: .resolver(failure.code)))
        case .success(let found):
            // libcurl does not accept an address with a zone here.
            let usable = found.filter { !$0.contains("%") }
            let allowed = usable.filter { prepared.mayConnect(to: IPAddress($0)) }
            guard !allowed.isEmpty else {
                return end(usable.isEmpty ? OutboundError(.resolve, "\(host) has no usable address") : PreparedRequest.forbidden(host))
            }
            if !NameLookup.isAddress(host) { addresses.append((host, port, allowed)) }
            phase = .resolving(missing: missing - 1)
            if missing == 1 { run() }
        }
    }

    private func run() {
        do throws(OutboundError) {
            let handle = try EasyHandle()
            try handle.prepare(prepared, addresses: addresses)
            try handle.share(driver.sessions)
            try handle.observe(by: self)
            phase = .running(handle)
            try driver.add(handle, of: self)
        } catch {
            finish(error)
        }
    }

    /// Records something for `deliver`, and registers the transfer with the driver when it is the first.
    private func note(_ change: () -> Void) {
        if head == nil, bytes.isEmpty { driver.willDeliver(self) }
        change()
    }

    private func abort(_ error: OutboundError) -> Bool {
        failure = error
        if case .running(let handle) = phase { handle.closeConnectionAtEnd() }
        return false
    }

    private func finish(_ error: OutboundError?) {
        let before = phase
        if case .over = before { return }
        phase = .over
        connectTimer?.cancel()
        totalTimer?.cancel()
        head = nil
        bytes = []
        if case .running(let handle) = before {
            // libcurl before 8.1 leaks the buffer of a paused HTTP/2 stream that is removed.
            if isPaused { handle.resume() }
            driver.remove(handle)
        }
        driver.forget(self)
        handlers.end(error)
    }
}
