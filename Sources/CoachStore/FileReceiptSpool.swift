import CoachCore
import Foundation
import JSON
import Synchronization

/// Stores receipts of turns on disk, one file each, while the database is unavailable. A file contains the text of an answer, so it has
/// mode 0600 and is removed when the receipt is in the database.
public final class FileReceiptSpool: Sendable {
    /// A file in the spool that is not a receipt: truncated by a crash, or not written by the spool. It is kept.
    public struct Unreadable: Sendable, Equatable {
        public var path: String
        public var reason: String
    }

    public struct Contents: Sendable {
        /// Oldest first.
        public var receipts: [(handle: ReceiptSpool.Handle, receipt: TurnReceipt)] = []
        public var unreadable: [Unreadable] = []
    }

    private let folder: URL
    private let kept = Mutex(0)

    /// - Parameter folder: `InstanceSlot.receipts` of a slot that must be held as long as the spool is used. Created if missing.
    /// - Throws: `FileFault`.
    public init(folder: URL) throws {
        self.folder = folder
        try DurableFile.makeFolder(folder)
    }

    /// The port. `report` is called for each unreadable file that `pending` finds.
    public func spool(report: @escaping @Sendable (Unreadable) -> Void) -> ReceiptSpool {
        ReceiptSpool(
            keep: { receipt in try self.keep(receipt) },
            discard: { handle in self.discard(handle) },
            pending: {
                let contents = try self.contents()
                contents.unreadable.forEach(report)
                return contents.receipts
            })
    }

    /// Writes a receipt, and returns when it would survive a power failure. Blocks the thread for two fsyncs. Throws `FileFault`.
    public func keep(_ receipt: TurnReceipt) throws -> ReceiptSpool.Handle {
        let bytes = Data(StoredJSON.bytes(StoredReceipt(receipt)))
        let name = nextName(receipt)
        try DurableFile.write(
            bytes, to: folder.appendingPathComponent(name), temporary: folder.appendingPathComponent(name + ".unfinished"))
        return ReceiptSpool.Handle(name: name)
    }

    /// Removes a receipt. If that fails the receipt is delivered again after the next start, without effect, because `finish` is
    /// idempotent.
    public func discard(_ handle: ReceiptSpool.Handle) {
        unlink(folder.appendingPathComponent(handle.name).path)
    }

    /// All receipts in the spool, including complete files that a crashed process had not renamed yet. Throws `FileFault` when the folder
    /// cannot be read.
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

    /// A unique file name. Names sort by time: microseconds, then a number within the process, then turn and attempt.
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
