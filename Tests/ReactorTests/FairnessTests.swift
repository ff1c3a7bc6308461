import TestSupport
import Testing

@testable import Reactor

/// Work that keeps the thread busy for `piece` at a time, until `onPiece` returns false.
private final class Busy: DeferredWork {
    private let reactor: Reactor
    private let piece: Duration
    private let onPiece: () -> Bool

    init(_ reactor: Reactor, piece: Duration, onPiece: @escaping () -> Bool) {
        self.reactor = reactor
        self.piece = piece
        self.onPiece = onPiece
    }

    func continueWork() {
        spend(piece)
        if onPiece() { reactor.continueLater(self) }
    }
}

private func spend(_ time: Duration) {
    let end = threadProcessorTime() + time
    while threadProcessorTime() < end {}
}

@Suite("Fairness between sockets, timers, submitted and deferred work", .timeLimit(.minutes(1)))
struct FairnessTests {
    /// The load on the thread beside the measured socket and timer.
    enum Load: CaseIterable {
        case deferredWithoutEnd, manyMessages, manyTimers
    }

    @Test("a ready socket and a due timer are served within 5 ms under load", arguments: Load.allCases)
    func probe(_ load: Load) async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let descriptor = pair.near
            let longest: Duration = await reactor.waiting { done in
                let (last, longest, rounds) = (Box(threadProcessorTime()), Box(Duration.zero), Box(0))
                func measure() {
                    let now = threadProcessorTime()
                    longest.value = max(longest.value, now - last.value)
                    last.value = now
                }
                func tick() {
                    measure()
                    rounds.value += 1
                    if rounds.value == 100 { done(longest.value) } else { reactor.schedule(after: .zero, tick) }
                }
                // Level-triggered and always writable: ready in each wake-up.
                _ = try? reactor.watch(descriptor, .write) { _ in measure() }
                let piece = Duration.microseconds(200)
                switch load {
                case .deferredWithoutEnd:
                    for _ in 0..<50 { reactor.continueLater(Busy(reactor, piece: piece) { rounds.value < 100 }) }
                case .manyMessages: for _ in 0..<500 { reactor.submit { spend(piece) } }
                case .manyTimers: for _ in 0..<500 { reactor.schedule(after: .zero) { spend(piece) } }
                }
                reactor.schedule(after: .zero, tick)
            }
            // Three budgets, each exceeded by at most one piece, and the cost of measuring; without budgets it is at least 10 ms.
            #expect(longest < .milliseconds(5), "\(longest)")
        }
    }

    @Test("deferred work runs one piece each, in the order in which it was deferred")
    func order() async throws {
        try await withReactor { reactor in
            let seen: [Int] = await reactor.waiting { done in
                let seen = Box<[Int]>([])
                for number in 0..<3 {
                    reactor.continueLater(
                        Busy(reactor, piece: .microseconds(400)) {
                            seen.value.append(number)
                            if seen.value.count == 9 { done(seen.value) }
                            return seen.value.count < 9
                        })
                }
            }
            #expect(seen == [0, 1, 2, 0, 1, 2, 0, 1, 2])
        }
    }

    @Test("deferred work runs without other events, and stop drops what is left of it")
    func stop() async throws {
        let reactor = try Reactor(name: "deferred")
        reactor.start()
        let pieces = Box(0)
        let began: Bool = await reactor.waiting { done in
            reactor.continueLater(
                Busy(reactor, piece: .zero) {
                    pieces.value += 1
                    if pieces.value == 1000 { done(true) }
                    return true
                })
        }
        reactor.stop()
        #expect(began && pieces.value >= 1000)
    }

    @Test("submitted work keeps its order over several wake-ups, and all of it runs before the thread ends")
    func messageOrder() async throws {
        let reactor = try Reactor(name: "messages")
        let seen = Box<[Int]>([])
        for number in 0..<200 {
            reactor.submit {
                spend(.microseconds(50))
                seen.value.append(number)
            }
        }
        reactor.start()
        reactor.stop()
        #expect(seen.value == Array(0..<200))
    }
}
