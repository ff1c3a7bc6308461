import CoachCore
import Reactor
import Synchronization

/// How a writer to a client ended, and with it the connection.
public enum StreamResult: String, Sendable {
    /// The client has the whole stream.
    case told
    /// The client was told to resume.
    case handedOver
    /// The connection broke, or the client left.
    case gone
    /// The client took nothing for too long.
    case stalled
}

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
    ///   - descriptor: a connected socket that nobody else uses any more; the writer owns it, ends the response and closes it. The response's head
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

/// The writers to clients that follow turns. They are written on the reactor's thread, the one on which the model's words arrive: from a
/// provider's socket to a client's there is no hop between threads, no task and no queue.
public final class StreamLoop: Sendable {
    private let reactor: Reactor
    // SAFETY: but for its count, used only inside work submitted to the reactor, that is, on its thread.
    private nonisolated(unsafe) let driver: StreamLoopDriver

    /// No writer yet.
    public init(reactor: Reactor, limits: StreamLimits = StreamLimits()) {
        self.reactor = reactor
        driver = StreamLoopDriver(reactor: reactor, limits: limits)
    }

    /// Lines that are open, or about to be; any thread.
    public var count: Int { driver.count.load(ordering: .relaxed) }

    /// Opens a writer; any thread. It ends by the turn's end, the follower's bell, or its client.
    public func open(_ order: StreamRequest) {
        nonisolated(unsafe) let driver = driver
        driver.count.add(1, ordering: .relaxed)
        reactor.submit { driver.open(order) }
    }

    /// Tells every client to resume elsewhere; any thread.
    public func handOver() {
        nonisolated(unsafe) let driver = driver
        reactor.submit { driver.handOver() }
    }
}

/// What writers share. Belongs to the reactor's thread.
final class StreamLoopDriver {
    let reactor: Reactor
    let limits: StreamLimits
    let count = Atomic(0)
    /// Every writer writes through this buffer: a writer that waits holds none.
    var frame = ChunkFrame()
    /// Where goes what clients say to whom nobody listens.
    let discarded = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    private var writers: [ObjectIdentifier: StreamWriter] = [:]

    init(reactor: Reactor, limits: StreamLimits) {
        self.reactor = reactor
        self.limits = limits
    }

    deinit { discarded.deallocate() }

    func open(_ order: StreamRequest) {
        let writer = StreamWriter(order, streamLoop: self)
        writers[ObjectIdentifier(writer)] = writer
        order.subscriber.listen(writer)
        writer.begin()
    }

    func handOver() {
        // One message each, so that the streams of others go on between them.
        for writer in writers.values { reactor.submit { writer.signalled(.handOver) } }
    }

    func forget(_ writer: StreamWriter) {
        writers[ObjectIdentifier(writer)] = nil
        count.subtract(1, ordering: .relaxed)
    }
}
