import CoachCore
import Foundation
import JSON

/// Stores receipts of turns on disk, one file each, while the database is unavailable. A file contains the text of an answer, so it has
/// mode 0600 and is removed when the receipt is in the database.
public final class FileReceiptSpool: Sendable {
    /// A file in the spool that is not a receipt: truncated by a crash, or not written by the spool. It is kept.
    public typealias Unreadable = SpoolFolder.Unreadable

    /// All files of the spool, read.
    public struct Contents: Sendable {
        /// Oldest first.
        public var receipts: [(handle: ReceiptSpool.Handle, receipt: TurnReceipt)] = []
        public var unreadable: [Unreadable] = []
    }

    private let folder: SpoolFolder

    /// - Parameter folder: `InstanceSlot.receipts` of a slot that must be held as long as the spool is used. Created if missing.
    /// - Throws: `FileFault`.
    public init(folder: URL) throws { self.folder = try SpoolFolder(folder, content: "receipt") }

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
        try folder.keep(StoredReceipt(receipt), named: "\(receipt.identity.turnID)-\(receipt.identity.attempt)")
    }

    /// Removes a receipt. If that fails the receipt is delivered again after the next start, without effect, because `finish` is
    /// idempotent.
    public func discard(_ handle: ReceiptSpool.Handle) { folder.discard(handle) }

    /// All receipts in the spool, including complete files that a crashed process had not renamed yet. Throws `FileFault` when the folder
    /// cannot be read.
    public func contents() throws -> Contents {
        let (stored, unreadable) = try folder.contents(of: StoredReceipt.self)
        return Contents(receipts: stored.map { ($0.handle, $0.value.receipt) }, unreadable: unreadable)
    }
}
