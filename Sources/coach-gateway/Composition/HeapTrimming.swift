import BackgroundJobs
import CGatewayShims
import CoachCore
import Logging
import NIOPosix
import Telemetry
import TokenRelay

/// Gives free memory that malloc holds back to the system. Requests come and go between streams that stay, and malloc by itself returns only the memory
/// behind the last block in use. After a rush of requests a third of the process is such free memory.
struct HeapTrimming: Sendable {
    /// How often the heap is looked at: the less has gathered, the shorter a trim takes.
    private static let interval = Duration.seconds(1)

    let registry: TurnRegistry
    let streamLoop: StreamLoop
    let logger: Logger

    /// Whether any stream would notice that the heap is locked. Those of turns that run elsewhere, or have ended, are not in the registry.
    var isStreaming: Bool { registry.count > 0 || streamLoop.count > 0 }

    /// Until cancelled.
    func run() async throws {
        var slack = HeapSlack()
        let schedule = PeriodicSchedule(every: Self.interval, firstAfter: Self.interval)
        try await PeriodicLoop("heap trimming", schedule, logger: logger).run {
            guard slack.isWorthTrimming(Self.reading(), isStreaming: isStreaming) else { return }
            // Not on an event loop: it takes milliseconds.
            slack.trimmed(
                to: try await NIOThreadPool.singleton.runIfActive {
                    gateway_heap_trim()
                    return Self.reading()
                })
        }
    }

    /// The reading of this process.
    static func reading() -> HeapSlack.Reading {
        let memory = ProcessMemory.now()
        return HeapSlack.Reading(resident: memory.map { $0.residentBytes - $0.fileBytes } ?? 0, used: gateway_heap_in_use())
    }
}
