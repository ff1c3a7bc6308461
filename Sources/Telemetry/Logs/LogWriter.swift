import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Where log lines go. A line is handed over whole and lines never mix, whoever writes them.
public final class LogWriter: Sendable {
    private let lock = Mutex<Void>(())
    private let write: @Sendable ([UInt8]) -> Void

    /// A writer that calls `write` with one whole line, its end included, at a time.
    public init(_ write: @escaping @Sendable (_ line: [UInt8]) -> Void) { self.write = write }

    /// Writes to a file descriptor, one write(2) a line. Blocks while a pipe's reader is behind; an error drops the line, because there
    /// is nowhere left to report it.
    public convenience init(descriptor: Int32) {
        self.init { line in Self.write(line, to: descriptor) }
    }

    /// The process's standard error.
    public static let standardError = LogWriter(descriptor: STDERR_FILENO)

    func append(_ line: [UInt8]) { lock.withLock { _ in write(line) } }

    private static func write(_ line: [UInt8], to descriptor: Int32) {
        line.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                #if canImport(Darwin)
                    let written = Darwin.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #else
                    let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                #endif
                if written > 0 {
                    rest = rest.dropFirst(written)
                } else if errno == EAGAIN {
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = withUnsafeMutablePointer(to: &poll) { Self.poll($0) }
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    private static func poll(_ descriptor: UnsafeMutablePointer<pollfd>) -> Int32 {
        #if canImport(Darwin)
            Darwin.poll(descriptor, 1, 1000)
        #else
            Glibc.poll(descriptor, 1, 1000)
        #endif
    }
}
