/// The addresses of names, looked up on helper threads: once for all who ask meanwhile, and remembered for a minute. Failures are not
/// remembered. Belongs to the reactor's thread.
public final class NameCache {
    public typealias Answer = Result<[String], NameLookup.Failure>

    /// How long an answer is used. The system's resolver does not report how long it is valid; libcurl's default is a minute too.
    private static let validity = Duration.seconds(60)
    /// Names remembered.
    private static let capacity = 256
    /// Helper threads at a time. A resolver that hangs holds each for as long as `resolv.conf` says, by default 10 s.
    private static let maximumLookups = 32

    private let reactor: Reactor
    private let lookUp: @Sendable (String) -> Answer
    private var table = NameTable<(Answer) -> Void>(validity: validity, capacity: capacity, maximumLookups: maximumLookups)

    /// - Parameter lookUp: blocks, on a helper thread.
    public init(reactor: Reactor, lookUp: @escaping @Sendable (String) -> Answer = { NameLookup.addresses(of: $0) }) {
        self.reactor = reactor
        self.lookUp = lookUp
    }

    /// Calls `onAnswer` on the reactor's thread, perhaps before it returns. An address is its own answer.
    public func addresses(of name: String, onAnswer: @escaping (Answer) -> Void) {
        if NameLookup.isAddress(name) { return onAnswer(.success([name])) }
        switch table.ask(name, onAnswer, at: .now) {
        case .known(let addresses): onAnswer(.success(addresses))
        case .startLookup: start(name)
        case .wait: break
        }
    }

    private func start(_ name: String) {
        // SAFETY: the cache is touched on the reactor's thread alone, inside the submitted work.
        nonisolated(unsafe) let cache = self
        let (reactor, lookUp) = (reactor, lookUp)
        let isRunning = HelperThread.run {
            let answer = lookUp(name)
            reactor.submit { cache.answered(name, answer) }
        }
        if !isRunning { answered(name, .failure(NameLookup.Failure(code: 0))) }
    }

    private func answered(_ name: String, _ answer: Answer) {
        let (waiters, next) = table.answered(name, try? answer.get(), at: .now)
        if let next { start(next) }
        for onAnswer in waiters { onAnswer(answer) }
    }
}
