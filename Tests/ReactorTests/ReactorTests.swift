import Foundation
import Glibc
import Testing

@testable import Reactor

@Suite(.timeLimit(.minutes(1))) struct ReactorTests {
    @Test("work runs on the reactor's thread in the order it was submitted")
    func order() async throws {
        try await withReactor { reactor in
            #expect(!reactor.isOnReactorThread)
            let seen = Box<[Int]>([])
            for number in 0..<1000 { reactor.submit { seen.value.append(number) } }
            let (numbers, onThread) = try await reactor.call { (seen.value, reactor.isOnReactorThread) }
            #expect(numbers == Array(0..<1000))
            #expect(onThread)
        }
    }

    @Test("work submitted before the start runs after it")
    func beforeStart() async throws {
        let reactor = try Reactor(name: "late")
        let seen = Box(0)
        reactor.submit { seen.value += 1 }
        reactor.start()
        reactor.start()
        #expect(try await reactor.call { seen.value } == 1)
        reactor.stop()
    }

    @Test("a thread with a shorter time slice has it, and its nice value as before")
    func timeSlice() async throws {
        /// Of the calling thread, in nanoseconds; nil where the kernel does not say.
        @Sendable func slice() throws -> Int? {
            let lines = try String(contentsOfFile: "/proc/thread-self/sched", encoding: .utf8).split(separator: "\n")
            return lines.first { $0.hasPrefix("se.slice") }?.split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) }
        }
        let reactor = try Reactor(name: "short", timeSlice: .microseconds(200))
        reactor.start()
        defer { reactor.stop() }
        let (own, nice) = try await reactor.call { (try slice(), getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)) }
        #expect(nice == getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))
        // Linux has the line since 6.6, and threads that may choose since 6.12.
        if let own, let others = try slice(), Self.kernel >= (6, 12) { #expect(own == 200_000 && others != own) }
    }

    /// Major and minor version.
    private static var kernel: (Int, Int) {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        return numbers.count == 2 ? (numbers[0], numbers[1]) : (0, 0)
    }

    @Test("a thousand submissions from concurrent tasks all run")
    func manySubmitters() async throws {
        try await withReactor { reactor in
            let count = Box(0)
            await withTaskGroup { group in
                for _ in 0..<10 {
                    group.addTask { for _ in 0..<100 { reactor.submit { count.value += 1 } } }
                }
            }
            let arrived = try await reactor.call { count.value }
            #expect(arrived == 1000)
        }
    }

    @Test("the thread sleeps for `saturationPause` after a wake-up with many ready descriptors", arguments: [(4, false), (64, true)])
    func saturationPause(descriptors: Int, pauses: Bool) async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let ready = (0..<descriptors).map { _ in dup(pair.near) }
            defer { for descriptor in ready { close(descriptor) } }
            let (began, wakeUps) = (ContinuousClock.now, Box(0))
            try await reactor.call {
                for descriptor in ready {
                    let isFirst = descriptor == ready.first
                    _ = try reactor.watch(descriptor, .write) { _ in wakeUps.value += isFirst ? 1 : 0 }
                }
            }
            try await Task.sleep(for: .milliseconds(100))
            let (count, elapsed) = try await reactor.call { (wakeUps.value, ContinuousClock.now - began) }
            // Without a pause a wake-up takes microseconds.
            #expect((count <= Int(elapsed / .microseconds(Int(Reactor.saturationPause))) + 2) == pauses)
        }
    }

    @Test("an actor can use the reactor as its executor")
    func actorOnReactor() async throws {
        actor Counter {
            let reactor: Reactor
            var count = 0
            nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

            init(reactor: Reactor) {
                self.reactor = reactor
            }

            func increment() -> Bool {
                count += 1
                reactor.preconditionIsolated()
                return reactor.isOnReactorThread
            }
        }
        try await withReactor { reactor in
            let counter = Counter(reactor: reactor)
            for _ in 0..<100 { #expect(await counter.increment()) }
            #expect(await counter.count == 100)
        }
    }

    @Test("stop runs submitted work, may be called twice, and work submitted later runs on the submitting thread")
    func stop() async throws {
        let reactor = try Reactor(name: "stop")
        reactor.start()
        let count = Box(0)
        for _ in 0..<100 { reactor.submit { count.value += 1 } }
        reactor.stop()
        reactor.stop()
        #expect(count.value == 100)
        reactor.submit { count.value += reactor.isOnReactorThread ? 1 : 1000 }
        #expect(count.value == 101)
        #expect(!reactor.isOnReactorThread)
    }

    @Test("a reactor can be stopped on its own thread, or before it was started")
    func oddStops() async throws {
        let fromWithin = try Reactor(name: "within")
        fromWithin.start()
        #expect(
            try await fromWithin.call {
                fromWithin.stop()
                return true
            })
        let never = try Reactor(name: "never")
        let count = Box(0)
        never.submit { count.value += 1 }
        never.stop()
        #expect(count.value == 1)
    }

    @Test("a stopped reactor is freed")
    func freed() async throws {
        weak var weakReactor: Reactor?
        do {
            let reactor = try Reactor(name: "freed")
            weakReactor = reactor
            reactor.start()
            _ = try await reactor.call { true }
            reactor.stop()
        }
        #expect(weakReactor == nil)
    }

    @Test("timers fire in order, not before their time, and not after they were cancelled")
    func timers() async throws {
        try await withReactor { reactor in
            let begin = ContinuousClock.now
            let seen: [String] = await reactor.waiting { done in
                let seen = Box<[String]>([])
                reactor.schedule(after: .milliseconds(30)) {
                    seen.value.append("second")
                    done(seen.value)
                }
                reactor.schedule(after: .milliseconds(20)) { seen.value.append("first") }
                reactor.schedule(after: .milliseconds(10)) { seen.value.append("cancelled") }.cancel()
            }
            #expect(seen == ["first", "second"])
            #expect(ContinuousClock.now - begin >= .milliseconds(30))
        }
    }
}
