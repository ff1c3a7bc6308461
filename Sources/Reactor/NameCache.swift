/// A cache of host name lookups (name to numeric addresses). Lookups run on helper threads; concurrent requests for one name share one
/// lookup. An expired answer is returned while a new lookup runs, for up to an hour; failures are not cached. Use only on the reactor's
/// thread.
public final class NameCache {
    /// Numeric addresses, at least one, in the order in which to try them.
    public typealias Answer = Result<[String], NameLookup.Failure>
    /// Looks a name up. May block: it is called on a helper thread.
    public typealias Resolver = @Sendable (String) -> Answer

    typealias Table = NameTable<(Answer) -> Void>

    static let limits = Table.Limits(
        // The system's resolver does not report how long an answer is valid; libcurl's default is a minute too.
        freshness: .seconds(60),
        // RFC 8767 recommends one to three days for resolvers; servers move their addresses within minutes to hours.
        staleness: .seconds(3600),
        retryInterval: .seconds(5),
        capacity: 256,
        // Each lookup is a thread. One that hangs holds its thread for the time-out of `resolv.conf`, by default 10 s.
        lookups: 32)

    private let reactor: Reactor
    private let lookUp: Resolver
    private var table: Table

    public convenience init(reactor: Reactor, lookUp: @escaping Resolver = { NameLookup.addresses(of: $0) }) {
        self.init(reactor: reactor, limits: Self.limits, lookUp: lookUp)
    }

    init(reactor: Reactor, limits: Table.Limits, lookUp: @escaping Resolver) {
        self.reactor = reactor
        self.lookUp = lookUp
        table = Table(limits)
    }

    /// Calls `onAnswer` once on the reactor's thread, before this method returns if the answer is cached. A numeric address is returned as
    /// it is.
    public func addresses(of name: String, onAnswer: @escaping (Answer) -> Void) {
        if NameLookup.isAddress(name) { return onAnswer(.success([name])) }
        switch table.lookUp(name, onAnswer, at: .now) {
        case .known(let addresses, let startsLookup):
            if startsLookup { start(name) }
            onAnswer(.success(addresses))
        case .startLookup: start(name)
        case .wait: break
        }
    }

    private func start(_ name: String) {
        let cache = ReactorBound(self, to: reactor)
        let lookUp = lookUp
        let isRunning = HelperThread.run {
            let answer = lookUp(name)
            cache.submit { $0.answered(name, answer) }
        }
        if !isRunning { answered(name, .failure(NameLookup.Failure(code: 0))) }
    }

    private func answered(_ name: String, _ answer: Answer) {
        let (waiters, next) = table.answered(name, try? answer.get(), at: .now)
        if let next { start(next) }
        for onAnswer in waiters { onAnswer(answer) }
    }
}
