import Testing

@testable import TokenRelay

@Suite("TransferMailbox")
struct TransferMailboxTests {
    @Test("the reader is notified once for many parts, and again after mayRest")
    func notification() {
        var mailbox = TransferMailbox()
        var notified = [mailbox.put(head: TransferHead(status: 200)), mailbox.put(count: 1).notifies]
        #expect(notified == [true, false])
        var (contents, isPaused) = mailbox.taken()
        #expect(contents.head?.status == 200 && contents.bytes == [1] && !isPaused)
        // It arrives before the reader rests: the reader takes again without a notification.
        notified = [mailbox.put(count: 2).notifies]
        var rests = [mailbox.mayRest()]
        (contents, isPaused) = mailbox.taken()
        rests.append(mailbox.mayRest())
        #expect(notified == [false] && rests == [false, true] && contents.bytes == [1, 1] && !isPaused)
        notified = [mailbox.put(end: .complete)]
        rests = [mailbox.mayRest()]
        #expect(notified == [true] && rests == [false])
    }

    @Test("libcurl pauses when the mailbox is full, and resumes after take")
    func backPressure() {
        var mailbox = TransferMailbox()
        let pauses = [mailbox.put(count: TransferMailbox.capacity - 1).pauses, mailbox.put(count: 1).pauses]
        #expect(pauses == [false, true])
        let (full, empty) = (mailbox.taken(), mailbox.taken())
        #expect(full.contents.bytes.count == TransferMailbox.capacity && full.isPaused)
        #expect(empty.contents.isEmpty && !empty.isPaused)
    }
}

extension TransferMailbox {
    fileprivate mutating func put(count: Int) -> (notifies: Bool, pauses: Bool) {
        [UInt8](repeating: 1, count: count).withUnsafeBytes { put(bytes: $0) }
    }

    fileprivate mutating func taken() -> (contents: Contents, isPaused: Bool) {
        var contents = Contents()
        let isPaused = take(into: &contents)
        return (contents, isPaused)
    }
}
