import Foundation
import Glibc
import Synchronization

/// A program that a test started. It inherits no descriptor but its standard streams.
///
/// Not Foundation's `Process`, whose `run()` crashed while it listed /proc/self/fd in a process with about 1,400 descriptors.
public final class ChildProcess: Sendable {
    /// A standard stream of the program.
    public enum Stream: Sendable {
        /// `/dev/null`
        case null
        /// An open descriptor of this process.
        case descriptor(Int32)
        /// A pipe whose other end this object has. Output and errors share one.
        case pipe
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String

        public init(description: String) { self.description = description }
    }

    /// The process id. Refers to the program until its exit.
    public var identifier: pid_t { exit.child }
    private let inputEnd: Mutex<Int32?>
    private let outputEnd: Int32?
    /// Output behind the last line that was returned.
    private let unread = Mutex<[UInt8]>([])
    private let exit: Exit

    /// Starts a program.
    /// - Parameters:
    ///   - arguments: the program, by its path or a name that is found on `PATH` and where servers live, and its arguments.
    ///   - environment: nil: that of this process.
    public init(
        _ arguments: [String], environment: [String: String]? = nil, directory: String? = nil, input: Stream = .null,
        output: Stream = .null, errors: Stream = .null
    ) throws {
        let spawned = try Self.spawn(arguments, environment, directory, input, output, errors)
        exit = Exit(of: spawned.identifier)
        inputEnd = Mutex(spawned.input)
        outputEnd = spawned.output
    }

    deinit {
        endInput()
        if let outputEnd { close(outputEnd) }
    }

    /// The exit of a child, which is reaped at once, also when nobody waits for it: while one is not, Swift Testing's exit tests do not end.
    private final class Exit: Sendable {
        let child: pid_t
        private let known = Mutex<Int32?>(nil)

        init(of child: pid_t) {
            self.child = child
            Thread.detachNewThread { _ = self.wait() }
        }

        /// nil while it runs.
        var status: Int32? {
            known.withLock { known in
                var raw: Int32 = 0
                if known == nil, waitpid(child, &raw, WNOHANG) == child { known = raw & 0x7F == 0 ? raw >> 8 & 0xFF : raw & 0x7F }
                return known
            }
        }

        /// Blocks the thread.
        func wait() -> Int32 {
            while true {
                if let status { return status }
                // Does not reap the child (`WNOWAIT`): `status` reaps it, on any thread.
                var info = siginfo_t()
                _ = waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT)
            }
        }

        /// Sends a signal, unless it has ended.
        func signal(_ number: Int32) {
            known.withLock { known in
                if known == nil { Glibc.kill(child, number) }
            }
        }
    }
}

// MARK: - Exit

extension ChildProcess {
    /// Whether the program still runs.
    public var isRunning: Bool { status == nil }

    /// The exit code, or the signal that ended it; nil while it runs.
    public var status: Int32? { exit.status }

    /// Waits for the exit and returns the status. Blocks the thread.
    @discardableResult
    public func wait() -> Int32 { exit.wait() }

    /// Sends a signal, unless it has ended.
    public func signal(_ number: Int32) { exit.signal(number) }

    /// Kills it and waits for its exit.
    public func kill() {
        signal(SIGKILL)
        wait()
    }
}

// MARK: - Streams

extension ChildProcess {
    /// Runs a program to its end and returns its output. Blocks.
    /// - Throws: `Failure` with the output when the status is not 0, unless it `mayFail`.
    @discardableResult
    public static func run(
        _ arguments: [String], output: Stream = .pipe, errors: Stream = .null, mayFail: Bool = false
    ) throws -> String {
        let child = try ChildProcess(arguments, output: output, errors: errors)
        var bytes: [UInt8] = []
        while child.readMore(&bytes) {}
        let text = String(decoding: bytes, as: UTF8.self)
        let status = child.wait()
        guard status == 0 || mayFail else { throw Failure(description: "\(arguments[0]) ended with \(status): \(text)") }
        return text
    }

    /// The next line of its output; empty at the end. Blocks.
    public func line() -> String { nextLine() ?? "" }

    /// The next line of its output, or what is there without a line's end; nil at the end. Blocks.
    func nextLine() -> String? {
        unread.withLock { unread in
            while true {
                if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { unread.removeSubrange(...end) }
                    return String(decoding: unread[..<end], as: UTF8.self)
                }
                guard readMore(&unread) else {
                    defer { unread = [] }
                    return unread.isEmpty ? nil : String(decoding: unread, as: UTF8.self)
                }
            }
        }
    }

    /// Writes a line to its input.
    public func write(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        try inputEnd.withLock { end in
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { Glibc.write(end ?? -1, $0.baseAddress, $0.count) }
                guard count > 0 || errno == EINTR else { throw Failure(description: "the program reads no input") }
                written += max(count, 0)
            }
        }
    }

    /// Ends its input.
    public func endInput() {
        inputEnd.withLock { end in
            if let open = end { close(open) }
            end = nil
        }
    }

    /// Adds output to bytes; false at its end.
    private func readMore(_ bytes: inout [UInt8]) -> Bool {
        guard let outputEnd else { return false }
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        let count = Glibc.read(outputEnd, &chunk, chunk.count)
        guard count > 0 else { return false }
        bytes += chunk[..<count]
        return true
    }
}
