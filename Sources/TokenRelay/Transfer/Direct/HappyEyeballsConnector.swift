import Glibc
import Reactor

/// Opens a TCP connection to one of a host's addresses ("happy eyeballs", RFC 8305): when an attempt has not succeeded after 250 ms, the
/// next address is tried in parallel, and the first that accepts is used. Use only on the reactor's thread.
final class HappyEyeballsConnector {
    /// The time after which the next address is tried in parallel, as RFC 8305 §5 recommends.
    private static let attemptDelay = Duration.milliseconds(250)

    private let reactor: Reactor
    private let port: UInt16
    private var addresses: ArraySlice<String>
    private var attempts: [(descriptor: Int32, watch: Watch, address: String)] = []
    /// Called for each address that refused, or had not answered when a later one succeeded or the time was over.
    private let onFailedAddress: (String) -> Void
    private var next: TimerHandle?
    private var failure = TransferFailure(kind: .connect)
    /// Called once, with a connected socket or an error; nil after the end.
    private var onEnd: ((Result<Int32, TransferFailure>) -> Void)?

    /// - Parameter addresses: numeric, in the order in which they are preferred; at least one.
    init(
        _ addresses: [String], port: UInt16, on reactor: Reactor, onFailedAddress: @escaping (String) -> Void,
        onEnd: @escaping (Result<Int32, TransferFailure>) -> Void
    ) {
        self.reactor = reactor
        self.port = port
        self.addresses = addresses[...]
        self.onFailedAddress = onFailedAddress
        self.onEnd = onEnd
    }

    func begin() { tryNext() }

    /// Ends without calling `onEnd`.
    func cancel() { finish(nil) }

    /// Ends without calling `onEnd`, because the time is over; addresses that have not answered count as failed.
    func giveUp() {
        for attempt in attempts { onFailedAddress(attempt.address) }
        finish(nil)
    }

    private func tryNext() {
        next?.cancel()
        while onEnd != nil {
            guard let address = addresses.popFirst() else {
                if attempts.isEmpty { finish(.failure(failure)) }
                return
            }
            do throws(TransferFailure) {
                try start(address)
                if !addresses.isEmpty { next = reactor.schedule(after: Self.attemptDelay) { [self] in tryNext() } }
                return
            } catch {
                failure = error
                if error.kind == .connect { onFailedAddress(address) }
            }
        }
    }

    private func start(_ address: String) throws(TransferFailure) {
        let descriptor = try TCPSocket.connect(to: address, port)
        do {
            let watch = try reactor.watch(descriptor, .write) { [self] _ in answered(descriptor) }
            attempts.append((descriptor, watch, address))
        } catch {
            close(descriptor)
            throw TransferFailure(kind: .other, code: (error as? ReactorError)?.code ?? 0)
        }
    }

    private func answered(_ descriptor: Int32) {
        guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        let attempt = attempts.remove(at: index)
        reactor.unwatch(attempt.watch)
        let code = TCPSocket.error(of: descriptor)
        if code == 0 {
            // Attempts that began earlier and have not answered count as failed; later ones do not.
            for slower in attempts[..<index] { onFailedAddress(slower.address) }
            return finish(.success(descriptor))
        }
        close(descriptor)
        onFailedAddress(attempt.address)
        failure = TransferFailure(kind: .connect, code: code)
        if addresses.isEmpty, !attempts.isEmpty { return }
        tryNext()
    }

    private func finish(_ result: Result<Int32, TransferFailure>?) {
        guard let onEnd else { return }
        self.onEnd = nil
        next?.cancel()
        for attempt in attempts {
            reactor.unwatch(attempt.watch)
            close(attempt.descriptor)
        }
        attempts = []
        if let result { onEnd(result) }
    }
}
