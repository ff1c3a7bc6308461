/// Runs transfers. Belongs to the relay's thread, on which it calls all handlers.
protocol TransferDriver: AnyObject {
    /// Starts a transfer; `id` was not used before.
    func start(_ id: UInt64, _ request: TransferRequest, _ handlers: TransferHandlers)
    /// Ends a transfer; its `end` handler is called with `cancelled`. Harmless when it has ended.
    func cancel(_ id: UInt64)
    /// Hands over no more of the response, and ends the connection; `cancel` is to follow. Allowed inside handlers.
    func stop(_ id: UInt64)
    /// Cancels all transfers, closes all connections, and ends what is started later as cancelled. Idempotent.
    func close()
}
