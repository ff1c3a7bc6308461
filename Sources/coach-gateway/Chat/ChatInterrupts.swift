@preconcurrency import Dispatch
import Foundation
import Synchronization

/// What Ctrl-C means: the first one while an answer comes stops the answer, any other leaves.
final class ChatInterrupts: Sendable {
    private let stopAnswer = Mutex<(@Sendable () -> Void)?>(nil)
    private let source: any DispatchSourceSignal

    init() {
        // The source only sees what the process does not die of.
        signal(SIGINT, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGINT)
        source.setEventHandler { [self] in interrupt() }
        source.resume()
    }

    /// While `body` runs, the first Ctrl-C calls `stop`.
    func answering<Value>(stop: @escaping @Sendable () -> Void, _ body: () async -> Value) async -> Value {
        stopAnswer.withLock { $0 = stop }
        defer { stopAnswer.withLock { $0 = nil } }
        return await body()
    }

    private func interrupt() {
        let stop = stopAnswer.withLock { stop in
            defer { stop = nil }
            return stop
        }
        if let stop {
            Console.write(" stopping; once more leaves\n")
            return stop()
        }
        Console.write("\n")
        // As a shell reports a program that Ctrl-C has ended.
        exit(128 + SIGINT)
    }
}
