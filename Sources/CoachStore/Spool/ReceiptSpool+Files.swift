import CoachCore
import Foundation

extension ReceiptSpool {
    /// Receipts on disk, one file each. A file contains the text of an answer, so it has mode 0600 and is removed when the receipt is in the
    /// database. If that fails the receipt is delivered again after the next start, without effect, because `finish` is idempotent.
    /// - Parameters:
    ///   - folder: `InstanceSlot.receipts` of a slot that must be held as long as the spool is used. Created if missing.
    ///   - report: called once for each unreadable file that `pending` finds, which stays where it is.
    /// - Throws: `FileFault`.
    public static func files(
        in folder: URL, report: @escaping @Sendable (SpoolFolder.Unreadable) -> Void
    ) throws -> ReceiptSpool {
        let folder = try SpoolFolder(folder, content: "receipt")
        return ReceiptSpool(
            keep: { receipt in
                try folder.keep(StoredReceipt(receipt), named: "\(receipt.identity.turnID)-\(receipt.identity.attempt)")
            },
            discard: { handle in folder.discard(handle) },
            pending: { known in
                let (stored, unreadable) = try folder.contents(of: StoredReceipt.self, besides: known)
                unreadable.forEach(report)
                return stored.map { ($0.handle, $0.value.receipt) }
            })
    }
}
