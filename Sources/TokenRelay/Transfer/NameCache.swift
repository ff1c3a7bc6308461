import Reactor

/// The addresses of names, looked up on a helper thread, once for all who ask meanwhile, and remembered (`NameTable`). Belongs to the reactor's
/// thread.
final class NameCache {
    typealias Answer = Result<[String], TransferFailure>
    typealias Resolver = @Sendable (String) -> Result<[String], NameLookup.Failure>

    private let reactor: Reactor
    private let resolve: Resolver
    private var table = NameTable()
    private var order = AddressOrder()
    private var waiting: [String: [(Answer) -> Void]] = [:]

    init(reactor: Reactor, resolve: @escaping Resolver = NameLookup.addresses) {
        self.reactor = reactor
        self.resolve = resolve
    }

    /// Calls `onAnswer` on the reactor's thread, perhaps at once. An address is its own answer.
    func addresses(of host: String, onAnswer: @escaping (Answer) -> Void) {
        if NameLookup.isAddress(host) { return onAnswer(.success([host])) }
        switch table.look(up: host, at: .now) {
        case .known(let addresses, let refresh):
            if refresh { ask(host) }
            onAnswer(.success(addresses))
        case .unknown(let isAsked):
            waiting[host, default: []].append(onAnswer)
            if !isAsked { ask(host) }
        }
    }

    /// The order in which they are to be tried now.
    func ordered(_ addresses: [String]) -> [String] { order.ordered(addresses, at: .now) }

    /// An address did not take a connection.
    func failed(_ address: String) { order.failed(address, at: .now) }

    private func ask(_ host: String) {
        // SAFETY: the cache is touched on the reactor's thread alone, inside the submitted work.
        nonisolated(unsafe) let cache = self
        let (reactor, resolve) = (reactor, resolve)
        let isRunning = HelperThread.run {
            let answer = resolve(host)
            reactor.submit { cache.answered(host, answer) }
        }
        if !isRunning { answered(host, .failure(NameLookup.Failure(code: 0))) }
    }

    private func answered(_ host: String, _ answer: Result<[String], NameLookup.Failure>) {
        table.answered(host, try? answer.get(), at: .now)
        let told: Answer = answer.mapError { TransferFailure(kind: .resolve, code: $0.code) }
        for onAnswer in waiting.removeValue(forKey: host) ?? [] { onAnswer(told) }
    }
}
