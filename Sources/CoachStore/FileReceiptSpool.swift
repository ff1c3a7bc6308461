import CoachCore
import Foundation
import JSON
import Synchronization

/// Receipts on disk, one file each, while the database is away. A file holds a user's answer: only its owner may read it, and it is gone
/// when the receipt is in the ledger.
public final class FileReceiptSpool: Sendable {
    /// A file in the spool that is no receipt: cut by a crash, or not ours. It stays where it is.
    public struct Unreadable: Sendable, Equatable {
        public var path: String
        public var reason: String
    }

    /// What lies in the spool.
    public struct Contents: Sendable {
        /// The oldest first.
        public var receipts: [(ticket: ReceiptSpool.Handle, receipt: TurnReceipt)] = []
        public var unreadable: [Unreadable] = []
    }

    private let folder: URL
    private let kept = Mutex(0)

    /// `folder`: `InstanceSlot.receipts`, of a slot that is held as long as the spool is used. Created when it is missing. Throws `FileFault`.
    public init(folder: URL) throws {
        self.folder = folder
        try DurableFile.makeFolder(folder)
    }

    /// What the core sees; `report` is told of each unreadable file that `pending` finds.
    public func spool(report: @escaping @Sendable (Unreadable) -> Void) -> ReceiptSpool {
        ReceiptSpool(
            keep: { receipt in try self.keep(receipt) },
            discard: { ticket in self.discard(ticket) },
            pending: {
                let contents = try self.contents()
                contents.unreadable.forEach(report)
                return contents.receipts
            })
    }

    /// Returns when the receipt survives a power failure: two fsyncs, which block the thread for as long as the disk takes. Throws `FileFault`.
    public func keep(_ receipt: TurnReceipt) throws -> ReceiptSpool.Handle {
        let bytes = Data(StoredJSON.bytes(StoredReceipt(receipt)))
        let name = nextName(receipt)
        try DurableFile.write(
            bytes, to: folder.appendingPathComponent(name), temporary: folder.appendingPathComponent(name + ".unfinished"))
        return ReceiptSpool.Handle(name: name)
    }

    /// A file that cannot be removed comes back with the next start, which is harmless: a receipt is booked once.
    public func discard(_ ticket: ReceiptSpool.Handle) {
        unlink(folder.appendingPathComponent(ticket.name).path)
    }

    /// Everything in the spool. A file that was being written when the process died is a receipt too if all of it is there. Throws `FileFault`
    /// when the folder itself cannot be read.
    public func contents() throws -> Contents {
        var contents = Contents()
        for name in try DurableFile.names(in: folder) {
            let file = folder.appendingPathComponent(name)
            do {
                guard let bytes = try DurableFile.read(file) else { continue }
                let receipt = try StoredJSON.decode(StoredReceipt.self, from: Array(bytes)).receipt
                contents.receipts.append((ReceiptSpool.Handle(name: name), receipt))
            } catch let error as JSONFinding {
                contents.unreadable.append(Unreadable(path: file.path, reason: "not a receipt: \(error.path)"))
            } catch {
                contents.unreadable.append(Unreadable(path: file.path, reason: "\(error)"))
            }
        }
        return contents
    }

    /// Sorts by time: microseconds, then the number within this process, then the turn, which makes it unique among processes.
    private func nextName(_ receipt: TurnReceipt) -> String {
        let number = kept.withLock { kept in
            kept += 1
            return kept
        }
        let microseconds = Date().microseconds
        return
            "\(padded(microseconds, to: 17))-\(padded(Int64(number), to: 9))-\(receipt.identity.turnID)-\(receipt.identity.attempt).receipt"
    }

    private func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
