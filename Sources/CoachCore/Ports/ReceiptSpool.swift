/// Port to the durable store for receipts while the database is unavailable. A kept receipt survives the process.
public struct ReceiptSpool: Sendable {
    /// Identifies a kept receipt.
    public struct Handle: Hashable, Sendable {
        public let name: String
        public init(name: String) { self.name = name }
    }

    /// Writes a receipt and returns after fsync. Throws file system errors, such as a full disk.
    public var keep: @Sendable (TurnReceipt) throws -> Handle
    /// Deletes a receipt that the database now has.
    public var discard: @Sendable (Handle) -> Void
    /// Receipts that were kept and not discarded, by any process of this instance, besides those that are `known`.
    public var pending: @Sendable (_ known: Set<Handle>) throws -> [(handle: Handle, receipt: TurnReceipt)]

    public init(
        keep: @escaping @Sendable (TurnReceipt) throws -> Handle, discard: @escaping @Sendable (Handle) -> Void,
        pending: @escaping @Sendable (_ known: Set<Handle>) throws -> [(handle: Handle, receipt: TurnReceipt)]
    ) {
        self.keep = keep
        self.discard = discard
        self.pending = pending
    }
}
