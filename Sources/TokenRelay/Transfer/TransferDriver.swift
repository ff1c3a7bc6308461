/// An implementation of HTTP transfers: `DirectDriver` or `LibcurlDriver`. Use only on the relay's thread, on which it calls all handlers.
protocol TransferDriver: AnyObject {
    /// Starts a transfer. `id` must be new.
    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers)
    /// Ends a transfer and calls its `end` handler with `cancelled`. No effect when it has ended.
    func cancel(_ id: UInt64)
    /// Ends the connection and calls no more handlers until `cancel`, which must follow and calls `end`. Unlike `cancel`, allowed inside
    /// handlers.
    func stop(_ id: UInt64)
    /// Cancels all transfers and closes all connections. Transfers that are started later end as cancelled. Idempotent.
    func close()
}
