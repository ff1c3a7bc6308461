import CoachCore
import Reactor
import Synchronization

/// How a line to a client ended, and with it the connection.
public enum LineEnd: String, Sendable {
    /// The client has the whole stream.
    case told
    /// The client was told to resume.
    case handedOver
    /// The connection broke, or the client left.
    case gone
    /// The client took nothing for too long.
    case stalled
}

/// A line to be opened.
public struct LineOrder: Sendable {
    var turn: LiveTurn
    var follower: Follower
    var cursor: Cursor
    var format: any StreamFormat
    var descriptor: Int32
    var isChunked: Bool
    var onEnd: @Sendable (LineEnd) -> Void

    /// - Parameters:
    ///   - descriptor: a connected socket that nobody else uses any more; the line owns it, ends the response and closes it. The response's head
    ///     has announced the end of the connection.
    ///   - isChunked: whether the head announced chunks; without them the body ends with the connection.
    ///   - onEnd: called once, on the reactor's thread; it must not block.
    public init(
        _ turn: LiveTurn, follower: Follower, from cursor: Cursor, format: any StreamFormat, descriptor: Int32,
        isChunked: Bool = true, onEnd: @escaping @Sendable (LineEnd) -> Void
    ) {
        self.turn = turn
        self.follower = follower
        self.cursor = cursor
        self.format = format
        self.descriptor = descriptor
        self.isChunked = isChunked
        self.onEnd = onEnd
    }
}

/// The lines to clients that follow turns. They are written on the reactor's thread, the one on which the model's words arrive: from a
/// provider's socket to a client's there is no hop between threads, no task and no queue.
public final class ClientLines: Sendable {
    private let reactor: Reactor
    // SAFETY: but for its count, used only inside work submitted to the reactor, that is, on its thread.
    private nonisolated(unsafe) let driver: LineDriver

    /// No line yet.
    public init(reactor: Reactor, limits: LineLimits = LineLimits()) {
        self.reactor = reactor
        driver = LineDriver(reactor: reactor, limits: limits)
    }

    /// Lines that are open, or about to be; any thread.
    public var count: Int { driver.count.load(ordering: .relaxed) }

    /// Opens a line; any thread. It ends by the turn's end, the follower's bell, or its client.
    public func open(_ order: LineOrder) {
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

/// What lines share. Belongs to the reactor's thread.
final class LineDriver {
    let reactor: Reactor
    let limits: LineLimits
    let count = Atomic(0)
    /// Every line writes through this buffer: a line that waits holds none.
    var frame = ChunkFrame()
    /// Where goes what clients say to whom nobody listens.
    let unheard = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    private var lines: [ObjectIdentifier: ClientLine] = [:]

    init(reactor: Reactor, limits: LineLimits) {
        self.reactor = reactor
        self.limits = limits
    }

    deinit { unheard.deallocate() }

    func open(_ order: LineOrder) {
        let line = ClientLine(order, lines: self)
        lines[ObjectIdentifier(line)] = line
        order.follower.listen(line)
        line.begin()
    }

    func handOver() {
        // One message each, so that the streams of others go on between them.
        for line in lines.values { reactor.submit { line.heard(.handOver) } }
    }

    func forget(_ line: ClientLine) {
        lines[ObjectIdentifier(line)] = nil
        count.subtract(1, ordering: .relaxed)
    }
}
