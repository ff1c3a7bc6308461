/// The arguments of `StreamLoop.open`: which turn to write to which socket, from where and in which format.
public struct StreamRequest: Sendable {
    var turn: LiveTurn
    var subscriber: Subscriber
    var cursor: Cursor
    var format: any StreamFormat
    var descriptor: Int32
    var isChunked: Bool
    var onEnd: @Sendable (StreamResult) -> Void

    /// - Parameters:
    ///   - subscriber: already added to `turn`; the writer removes it at the end.
    ///   - descriptor: a connected socket that nothing else uses. The response's head was sent on it, with `Connection: close`. The writer
    ///     owns it, writes the body and closes it.
    ///   - isChunked: whether the head announced chunked coding; without it the body ends with the connection.
    ///   - onEnd: called once, on the reactor's thread; must not block.
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
