/// A writer to be opened.
public struct StreamRequest: Sendable {
    var turn: LiveTurn
    var subscriber: Subscriber
    var cursor: Cursor
    var format: any StreamFormat
    var descriptor: Int32
    var isChunked: Bool
    var onEnd: @Sendable (StreamResult) -> Void

    /// - Parameters:
    ///   - descriptor: a connected socket without another user; the writer owns it, ends the response and closes it. The response's head
    ///     has announced the end of the connection.
    ///   - isChunked: whether the head announced chunks; without them the body ends with the connection.
    ///   - onEnd: called once, on the reactor's thread; it must not block.
    public init(
        _ turn: LiveTurn, subscriber: Subscriber, from cursor: Cursor, format: any StreamFormat, descriptor: Int32,
        isChunked: Bool = true, onEnd: @escaping @Sendable (StreamResult) -> Void
    ) {
        self.turn = turn
        self.subscriber = subscriber
        self.cursor = cursor
        self.format = format
        self.descriptor = descriptor
        self.isChunked = isChunked
        self.onEnd = onEnd
    }
}
