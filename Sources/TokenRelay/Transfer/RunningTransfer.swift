import Reactor

/// One request on its way, and its response. Belongs to the reactor's thread.
final class RunningTransfer: ConnectionUser {
    private enum Phase {
        case opening(Opening)
        case talking(ProviderConnection, isKept: Bool)
        case over
    }

    let id: UInt64
    private let key: ConnectionKey
    /// Kept until the response begins: a kept connection that was closed meanwhile is replaced.
    private var request: [UInt8]
    private let connectTimeout: Duration
    private let handlers: TransferHandlers
    private unowned let driver: TransferDriver
    private var phase = Phase.over
    private var reader = ResponseReader()

    init(
        id: UInt64, key: ConnectionKey, request: [UInt8], connectTimeout: Duration, handlers: TransferHandlers, driver: TransferDriver
    ) {
        self.id = id
        self.key = key
        self.request = request
        self.connectTimeout = connectTimeout
        self.handlers = handlers
        self.driver = driver
    }

    func begin() {
        if let connection = driver.pool.take(key) { talk(connection, isKept: true) } else { open() }
    }

    func cancel() { finish(.cancelled) }

    private func open() {
        let opening = Opening(key, with: driver.tools) { [self] outcome in
            switch outcome {
            case .success(let connection): talk(connection, isKept: false)
            case .failure(let failure): finish(.failed(failure))
            }
        }
        phase = .opening(opening)
        opening.begin(within: connectTimeout)
    }

    private func talk(_ connection: ProviderConnection, isKept: Bool) {
        phase = .talking(connection, isKept: isKept)
        connection.user = self
        connection.send(request)
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        do throws(HeadReader.Malformed) {
            let count = try reader.read(bytes, onHead: handlers.head)
            if count > 0 { handlers.bytes(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
        } catch {
            return finish(.failed(TransferFailure(kind: .cut)))
        }
        if !request.isEmpty { request = [] }
        if reader.isComplete { finish(.complete) }
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) {
        if case .talking(_, isKept: true) = phase, !reader.hasBegun {
            // It was closed while nobody used it, or in the moment before: the request was not seen by anybody.
            return open()
        }
        switch end {
        case .closed: finish(reader.close() ? .complete : .failed(TransferFailure(kind: .cut)))
        case .failed(let failure): finish(.failed(failure))
        }
    }

    private func finish(_ end: TransferEnd) {
        let before = phase
        phase = .over
        switch before {
        case .over: return
        case .opening(let opening): opening.cancel()
        case .talking(let connection, _):
            if end == .complete, reader.mayReuse, connection.isQuiet {
                driver.pool.keep(connection)
            } else {
                connection.close()
            }
        }
        driver.forget(self)
        handlers.end(end)
    }
}
