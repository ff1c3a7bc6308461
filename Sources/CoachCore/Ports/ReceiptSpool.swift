/// Port to the durable store for receipts while the database is unavailable. A kept receipt survives the process.
public struct ReceiptSpool: Sendable {
    /// Identifies a kept receipt.
    public struct Ticket: Hashable, Sendable {
        public let name: String
        public init(name: String) { self.name = name }
    }

    /// Writes a receipt and returns after fsync. Throws file system errors, such as a full disk.
    public var keep: @Sendable (TurnReceipt) throws -> Ticket
    /// Deletes a receipt that the database now has.
    public var discard: @Sendable (Ticket) -> Void
    /// Receipts that an earlier process of this instance kept and did not discard.
    public var leftovers: @Sendable () throws -> [(ticket: Ticket, receipt: TurnReceipt)]

    public init(
        keep: @escaping @Sendable (TurnReceipt) throws -> Ticket, discard: @escaping @Sendable (Ticket) -> Void,
        leftovers: @escaping @Sendable () throws -> [(ticket: Ticket, receipt: TurnReceipt)]
    ) {
        self.keep = keep
        self.discard = discard
        self.leftovers = leftovers
    }
}
