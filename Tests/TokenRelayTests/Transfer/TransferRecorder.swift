import Synchronization
import TestSupport
import Testing
import TokenRelay

/// Records what a transfer reported.
final class TransferRecorder: Sendable {
    struct Record {
        var heads: [TransferHead] = []
        var body: [UInt8] = []
        var handOvers = 0
        var ends: [TransferEnd] = []
        var toldAfterEnd = false
    }
    private let record = Mutex(Record())

    var handlers: TransferHandlers {
        TransferHandlers(
            head: { head in self.change { $0.heads.append(head) } },
            bytes: { bytes in
                self.change {
                    $0.body += bytes
                    $0.handOvers += 1
                }
            },
            end: { end in self.record.withLock { $0.ends.append(end) } })
    }

    var now: Record { record.withLock { $0 } }
    var text: String { String(decoding: now.body, as: UTF8.self) }

    private func change(_ body: (inout Record) -> Void) {
        record.withLock { record in
            if !record.ends.isEmpty { record.toldAfterEnd = true }
            body(&record)
        }
    }

    /// Waits for the end; checks that it came once and last.
    func end(sourceLocation: SourceLocation = #_sourceLocation) async throws -> TransferEnd {
        try await eventually { !self.now.ends.isEmpty }
        let record = now
        #expect(record.ends.count == 1 && !record.toldAfterEnd && record.heads.count <= 1, sourceLocation: sourceLocation)
        return try #require(record.ends.first)
    }
}
