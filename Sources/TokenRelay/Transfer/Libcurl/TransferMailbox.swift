/// What libcurl's thread has received of one response, and the relay's thread has not taken. Pure.
///
/// The reader is notified once, and then looks until the mailbox is empty: however many pieces arrive meanwhile, there is one hop between threads.
struct TransferMailbox {
    /// What arrived, in this order.
    struct Contents {
        var head: TransferHead?
        var bytes: [UInt8] = []
        var end: TransferEnd?

        var isEmpty: Bool { head == nil && bytes.isEmpty && end == nil }
    }

    /// Bytes that wait at the most before libcurl pauses; what it has received by then comes on top. A burst of tokens is far smaller.
    static let capacity = 64 << 10

    private enum Reader {
        /// Looks when it is notified.
        case idle
        case notified
    }

    private var contents = Contents()
    private var reader = Reader.idle
    private var isPaused = false

    /// True when the reader is to be notified.
    mutating func put(head: TransferHead) -> Bool {
        contents.head = head
        return notifies()
    }

    /// - Returns: whether the reader is to be notified, and whether libcurl is to pause until `take` resumes it.
    mutating func put(bytes: UnsafeRawBufferPointer) -> (notifies: Bool, pauses: Bool) {
        contents.bytes += bytes
        isPaused = contents.bytes.count >= Self.capacity
        return (notifies(), isPaused)
    }

    /// True when the reader is to be notified.
    mutating func put(end: TransferEnd) -> Bool {
        contents.end = end
        return notifies()
    }

    /// Exchanges the contents for `other`, which is empty and whose buffer is used again. True when libcurl is to go on.
    mutating func take(into other: inout Contents) -> Bool {
        swap(&contents, &other)
        defer { isPaused = false }
        return isPaused
    }

    /// The reader has dealt with what it took. True when nothing is left: it will be notified. Otherwise it is to look again.
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
