import TestSupport
import Testing

@testable import Reactor

/// Work that keeps the thread busy for `piece`, as often as it is told to.
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

@Suite("Nothing keeps the rest of the thread waiting", .timeLimit(.minutes(1)))
struct FairnessTests {
    /// What a test puts on the thread beside the probe.
    enum Load: CaseIterable {
        case deferredWithoutEnd, manyMessages, manyTimers
    }

    @Test("a socket and a timer are served every few milliseconds, whatever else there is to do", arguments: Load.allCases)
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
            // Three budgets and a piece each, and room for the measuring itself; without budgets it is 10 ms at the least.
            #expect(longest < .milliseconds(5), "\(longest)")
        }
    }

    @Test("deferred work goes on in the order in which it was deferred, a piece each")
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

    @Test("work that is deferred keeps the thread awake, and what is left when it ends is dropped")
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

    @Test("messages keep their order over more wake-ups than one, and are all performed before the thread ends")
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
