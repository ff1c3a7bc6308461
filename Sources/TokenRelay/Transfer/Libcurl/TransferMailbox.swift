/// The parts of one response that libcurl's thread has received and the relay's thread (the reader) has not taken. Pure.
///
/// The reader is notified once and then takes until the mailbox is empty, so that any number of pieces needs one thread hop.
struct TransferMailbox {
    /// Delivered in this order.
    struct Contents {
        var head: TransferHead?
        var bytes: [UInt8] = []
        var end: TransferEnd?

        var isEmpty: Bool { head == nil && bytes.isEmpty && end == nil }
    }

    /// libcurl pauses when this many bytes wait; what it has already received is added. A burst of tokens is far smaller.
    static let capacity = 64 << 10

    private enum Reader {
        /// Must be notified of the next part.
        case idle
        /// Has been notified, and will take without another notification.
        case notified
    }

    private var contents = Contents()
    private var reader = Reader.idle
    private var isPaused = false

    /// True: notify the reader.
    mutating func put(head: TransferHead) -> Bool {
        contents.head = head
        return notifies()
    }

    /// - Returns: whether to notify the reader, and whether libcurl must pause until the reader resumes it.
    mutating func put(bytes: UnsafeRawBufferPointer) -> (notifies: Bool, pauses: Bool) {
        contents.bytes += bytes
        isPaused = contents.bytes.count >= Self.capacity
        return (notifies(), isPaused)
    }

    /// True: notify the reader.
    mutating func put(end: TransferEnd) -> Bool {
        contents.end = end
        return notifies()
    }

    /// Moves the contents to `other`, which must be empty; its buffer is used again. True: libcurl is paused and must be resumed.
    mutating func take(into other: inout Contents) -> Bool {
        swap(&contents, &other)
        defer { isPaused = false }
        return isPaused
    }

    /// The reader has delivered what it took. True when the mailbox is empty: the reader will be notified of the next part. False: take
    /// again.
    mutating func mayRest() -> Bool {
        guard contents.isEmpty else { return false }
        reader = .idle
        return true
    }

    private mutating func notifies() -> Bool {
        defer { reader = .notified }
        return reader == .idle
    }
}
