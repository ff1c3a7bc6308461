import Reactor

/// The addresses of names, looked up on a helper thread, once for all who ask meanwhile, and remembered for a while. Belongs to the
/// reactor's thread.
final class NameCache {
    /// How long an answer is used. The system's resolver does not tell how long it is valid; libcurl's default is a minute too.
    private static let validity = Duration.seconds(60)
    /// Names remembered; providers are few.
    private static let mostNames = 256

    typealias Answer = Result<[String], TransferFailure>

    private enum Entry {
        case asking([(Answer) -> Void])
        case known([String], until: ContinuousClock.Instant)
    }

    private let reactor: Reactor
    private var entries: [String: Entry] = [:]

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// Calls `onAnswer` on the reactor's thread, perhaps at once. An address is its own answer.
    func addresses(of host: String, onAnswer: @escaping (Answer) -> Void) {
        if NameLookup.isAddress(host) { return onAnswer(.success([host])) }
        switch entries[host] {
        case .known(let addresses, let until) where until > .now: onAnswer(.success(addresses))
        case .asking(let others): entries[host] = .asking(others + [onAnswer])
        case .known, nil:
            entries[host] = .asking([onAnswer])
            ask(host)
        }
    }

    private func ask(_ host: String) {
        // SAFETY: the cache is touched on the reactor's thread alone, inside the submitted work.
        nonisolated(unsafe) let cache = self
        let reactor = reactor
        let isRunning = HelperThread.run {
            let answer = NameLookup.addresses(of: host)
            reactor.submit { cache.answered(host, answer) }
        }
        if !isRunning { answered(host, .failure(NameLookup.Failure(code: 0))) }
    }

    private func answered(_ host: String, _ answer: Result<[String], NameLookup.Failure>) {
        guard case .asking(let waiting)? = entries.removeValue(forKey: host) else { return }
        if case .success(let addresses) = answer {
            if entries.count >= Self.mostNames { entries = entries.filter { if case .asking = $0.value { true } else { false } } }
            entries[host] = .known(addresses, until: .now + Self.validity)
        }
        let told: Answer = answer.mapError { TransferFailure(kind: .resolve, code: $0.code) }
        for onAnswer in waiting { onAnswer(told) }
    }
}
