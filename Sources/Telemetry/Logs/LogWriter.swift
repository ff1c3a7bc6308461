import Dispatch
import Glibc
import JSON
import Synchronization

/// Writes log lines to a file descriptor, without blocking the callers. Lines are queued up to a number of bytes, and one thread writes
/// them in order. When the reader of the log is too slow and the queue is full, and when writing fails, lines are dropped and counted, and a later
/// line reports how many.
public final class LogWriter: Sendable {
    private struct Queue {
        var lines: [[UInt8]] = []
        /// Bytes of the queued lines and of those that are being written.
        var bytes = 0
        /// Whether `drain` is running or scheduled.
        var isDraining = false
        var dropped = 0
        var reportedDropped = 0
        /// Lines that were taken from the queue, and written or dropped.
        var finished = 0
        /// The value of `finished` when the last flush timed out; nil when it did not.
        var stuckAt: Int?
    }

    /// Bytes: about ten thousand lines.
    public static let defaultCapacity = 2 * 1024 * 1024
    /// Lines are written together up to this size.
    private static let batchBytes = 64 * 1024

    private let queue = Mutex(Queue())
    private let capacity: Int
    private let thread = DispatchQueue(label: "log")
    private let write: @Sendable ([UInt8]) -> Bool

    /// Calls `write` with one or more complete lines, including their line feeds, never concurrently. It returns whether it wrote all of them.
    public init(capacity: Int = LogWriter.defaultCapacity, _ write: @escaping @Sendable (_ lines: [UInt8]) -> Bool) {
        self.capacity = capacity
        self.write = write
    }

    /// Writes to a file descriptor. On an error the lines are dropped: the process cannot log that its log fails.
    public convenience init(descriptor: Int32, capacity: Int = LogWriter.defaultCapacity) {
        self.init(capacity: capacity) { lines in Self.write(lines, to: descriptor) }
    }

    /// The process's standard error.
    public static let standardError = LogWriter(descriptor: STDERR_FILENO)

    /// The number of lines that were dropped because the queue was full or writing failed.
    public var droppedLines: Int { queue.withLock { $0.dropped } }

    func append(_ line: [UInt8]) {
        let isIdle = queue.withLock { queue in
            guard queue.bytes + line.count <= capacity else {
                queue.dropped += 1
                return false
            }
            queue.lines.append(line)
            queue.bytes += line.count
            defer { queue.isDraining = true }
            return !queue.isDraining
        }
        if isIdle { thread.async { self.drain() } }
    }

    /// Waits until everything logged so far is written or dropped; false when that takes longer than `time`. If the last flush timed out and nothing
    /// was finished since, returns false at once.
    @discardableResult
    public func flush(within time: DispatchTimeInterval) -> Bool {
        guard queue.withLock({ $0.stuckAt != $0.finished || $0.lines.isEmpty && !$0.isDraining }) else { return false }
        let isDone = DispatchSemaphore(value: 0)
        thread.async { isDone.signal() }
        let isInTime = isDone.wait(timeout: .now() + time) == .success
        queue.withLock { $0.stuckAt = isInTime ? nil : $0.finished }
        return isInTime
    }

    private func drain() {
        while let (lines, dropped) = next() {
            let isReported = dropped > 0 && write(Self.notice(dropped))
            let lost = writeBatches(lines)
            queue.withLock { queue in
                queue.bytes -= lines.reduce(0) { $0 + $1.count }
                queue.finished += lines.count
                queue.dropped += lost
                if isReported { queue.reportedDropped += dropped }
            }
        }
    }

    /// Writes lines in batches. Returns the number of lines in batches that failed.
    private func writeBatches(_ lines: [[UInt8]]) -> Int {
        var lost = 0
        var batch: [UInt8] = []
        var batchLines = 0
        for line in lines {
            if batch.count + line.count > Self.batchBytes, !batch.isEmpty {
                if !write(batch) { lost += batchLines }
                batch.removeAll(keepingCapacity: true)
                batchLines = 0
            }
            batch += line
            batchLines += 1
        }
        return write(batch) ? lost : lost + batchLines
    }

    /// Removes and returns the queued lines, and how many drops are not reported yet; nil when none are queued.
    private func next() -> (lines: [[UInt8]], dropped: Int)? {
        queue.withLock { queue in
            guard !queue.lines.isEmpty else {
                queue.isDraining = false
                return nil
            }
            defer { queue.lines = [] }
            return (queue.lines, queue.dropped - queue.reportedDropped)
        }
    }

    private static func notice(_ dropped: Int) -> [UInt8] {
        var line = LogLine()
        line.field("time", Timestamp.now.rfc3339)
        line.field("level", "warning")
        line.field("label", "log")
        line.field("message", "log lines were dropped because they were not read in time or could not be written")
        line.field("count", literal: "\(dropped)")
        line.end()
        return line.bytes
    }

    /// False when an error ends it.
    private static func write(_ lines: [UInt8], to descriptor: Int32) -> Bool {
        lines.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if errno == EAGAIN {
                    var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&writable, 1, 1000)
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
