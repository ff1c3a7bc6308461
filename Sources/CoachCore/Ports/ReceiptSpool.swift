/// Where receipts wait on disk while the database is away. A receipt that was kept survives the process.
public struct ReceiptSpool: Sendable {
    /// Names a kept receipt.
    public struct Ticket: Hashable, Sendable {
        public let name: String
        /// Wraps the name that the spool gave.
        public init(name: String) { self.name = name }
    }

    /// Returns when the receipt is on the disk (fsync). Throws what the file system says, a full disk above all.
    public var keep: @Sendable (TurnReceipt) throws -> Ticket
    /// Forgets a receipt that is in the ledger now.
    public var discard: @Sendable (Ticket) -> Void
    /// What an earlier life of this instance left behind.
    public var leftovers: @Sendable () throws -> [(ticket: Ticket, receipt: TurnReceipt)]

    /// Memberwise.
    public init(
        keep: @escaping @Sendable (TurnReceipt) throws -> Ticket, discard: @escaping @Sendable (Ticket) -> Void,
        leftovers: @escaping @Sendable () throws -> [(ticket: Ticket, receipt: TurnReceipt)]
    ) {
        self.keep = keep
        self.discard = discard
        self.leftovers = leftovers
    }
}
