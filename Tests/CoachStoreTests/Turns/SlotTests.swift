import CoachCore
import CoachStore
import Foundation
import TestSupport
import Testing

@Suite("InstanceSlot")
struct SlotTests {
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("slots-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    /// Another process that holds a lock until its input ends.
    private final class Holder {
        private let process: ChildProcess

        init(lock: URL) throws {
            process = try ChildProcess(
                ["flock", "--exclusive", lock.path, "sh", "-c", "echo held; cat"], input: .pipe, output: .pipe)
            // Waits until the lock is held.
            _ = process.line()
        }

        func release() {
            process.endInput()
            process.wait()
        }
    }

    @Test("an instance keeps its id after a restart, and two concurrent processes have two ids")
    func identity() throws {
        let folder = Folder()
        var first: InstanceSlot? = try InstanceSlot(in: folder.url.appendingPathComponent("deeper"))
        let second = try InstanceSlot(in: folder.url.appendingPathComponent("deeper"))
        let id = first?.instance
        #expect(first?.folder.lastPathComponent == "1" && second.folder.lastPathComponent == "2" && second.instance != id)
        first = nil
        #expect(try InstanceSlot(in: folder.url.appendingPathComponent("deeper")).instance == id)
    }

    @Test("a slot that another process holds is skipped, and free when that process has ended")
    func contention() throws {
        let folder = Folder()
        let id = try InstanceSlot(in: folder.url).instance
        let holder = try Holder(lock: folder.url.appendingPathComponent("1/lock"))
        #expect(try InstanceSlot(in: folder.url).folder.lastPathComponent == "2")
        holder.release()
        let slot = try InstanceSlot(in: folder.url)
        #expect(slot.folder.lastPathComponent == "1" && slot.instance == id)
    }

    @Test("when all slots are held, the error is noneFree with the directory")
    func full() throws {
        let folder = Folder()
        let slots = try (0..<InstanceSlot.count).map { _ in try InstanceSlot(in: folder.url) }
        #expect(Set(slots.map(\.instance)).count == InstanceSlot.count)
        #expect(throws: InstanceSlot.Failure.noneFree(directory: folder.url.path)) { try InstanceSlot(in: folder.url) }
    }

    @Test("a malformed id file, and a file in place of the folder, are errors with their paths")
    func broken() throws {
        let folder = Folder()
        let file = try InstanceSlot(in: folder.url).folder.appendingPathComponent("instance")
        try Data("nobody".utf8).write(to: file)
        #expect(throws: InstanceSlot.Failure.unreadable(path: file.path)) { try InstanceSlot(in: folder.url) }
        let fault = try #require(throws: FileFault.self) { try InstanceSlot(in: file) }
        #expect(fault.description.contains(file.path))
    }

    @Test("receipts and records of calls in a free slot are adopted, those of a running process are not")
    func inheritance() throws {
        let folder = Folder()
        func receipt(_ attempt: Int) -> TurnReceipt {
            let identity = TurnIdentity(
                turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: attempt)
            return .complete(identity, of: .someone())
        }
        let (orphaned, held) = (receipt(1), receipt(2))
        var slots = try (0..<3).map { _ in try InstanceSlot(in: folder.url) }
        _ = try ReceiptSpool.files(in: slots[1].receipts) { _ in }.keep(held)
        _ = try ReceiptSpool.files(in: slots[2].receipts) { _ in }.keep(orphaned)
        let calls = (1...2).map { number in
            PendingCall(
                userID: .random(), turnID: .random(), attempt: 1, number: number, purpose: .answer, day: CalendarDay(unixSeconds: 0))
        }
        func spool(_ slot: InstanceSlot) throws -> CallSpool { try CallSpool.files(in: slot.calls) { _ in } }
        for (slot, call) in zip(slots[1...], calls) { _ = try spool(slot).keep(call) }
        slots.remove(at: 2)
        slots.remove(at: 0)
        let own = try InstanceSlot(in: folder.url)
        #expect(own.folder.lastPathComponent == "1")
        #expect(try ReceiptSpool.files(in: own.receipts) { _ in }.pending([]).map(\.receipt) == [orphaned])
        #expect(try ReceiptSpool.files(in: slots[0].receipts) { _ in }.pending([]).map(\.receipt) == [held])
        #expect(try spool(own).pending().map(\.call) == [calls[1]] && spool(slots[0]).pending().map(\.call) == [calls[0]])
        // The other process ends now, and nobody takes its slot.
        slots.removeAll()
        try own.adopt()
        #expect(try ReceiptSpool.files(in: own.receipts) { _ in }.pending([]).map(\.receipt) == [held, orphaned])
        #expect(try Set(spool(own).pending().map(\.call.number)) == [1, 2])
    }
}
