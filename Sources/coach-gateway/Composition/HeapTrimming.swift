import BackgroundJobs
import CGatewayShims
import CoachCore
import Glibc
import Logging
import NIOPosix
import TokenRelay

/// Gives memory back that malloc holds free. Requests come and go between streams that stay, and malloc by itself returns only what lies
/// behind the last of these: after a rush of requests that is a third of the process.
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
        HeapSlack.Reading(resident: anonymousBytes(), used: gateway_heap_in_use())
    }

    /// Resident pages less those of files: the second and third number of `/proc/self/statm` (proc(5)). 0 where there is none.
    private static func anonymousBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = fread(&bytes, 1, bytes.count, file)
        let pages = bytes[..<count].split(separator: UInt8(ascii: " ")).map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
        return pages.count > 2 ? (pages[1] - pages[2]) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
