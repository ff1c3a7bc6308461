/// Port to the durable store for records of model calls whose requests could not wait for the database. A kept record survives the process.
public struct CallSpool: Sendable {
    public typealias Handle = ReceiptSpool.Handle

    /// Writes a record and returns after fsync. Throws file system errors, such as a full disk.
    public var keep: @Sendable (PendingCall) throws -> Handle
    /// Deletes a record that the database now has.
    public var discard: @Sendable (Handle) -> Void
    /// Keeps a record that the database rejects, but no longer among the pending ones of this process.
    public var reject: @Sendable (Handle) -> Void
    /// The records that were kept and neither discarded nor rejected, also by earlier processes of this instance; oldest first.
    public var pending: @Sendable () throws -> [(handle: Handle, call: PendingCall)]

    public init(
        keep: @escaping @Sendable (PendingCall) throws -> Handle, discard: @escaping @Sendable (Handle) -> Void,
        reject: @escaping @Sendable (Handle) -> Void,
        pending: @escaping @Sendable () throws -> [(handle: Handle, call: PendingCall)]
    ) {
        self.keep = keep
        self.discard = discard
        self.reject = reject
        self.pending = pending
    }
}
