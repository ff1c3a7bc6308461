import Reactor

/// What writers share. Belongs to the reactor's thread.
final class StreamLoopDriver {
    let reactor: Reactor
    let limits: StreamLimits
    /// Every writer writes through this buffer: a writer that waits holds none.
    var frame = ChunkFrame()
    /// Receives what clients send after their request, which is ignored.
    let discarded = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    private let active: ActiveCount
    private var writers: [ObjectIdentifier: StreamWriter] = [:]
    private var isHandingOver = false

    init(reactor: Reactor, limits: StreamLimits, active: ActiveCount) {
        self.reactor = reactor
        self.limits = limits
        self.active = active
    }

    deinit { discarded.deallocate() }

    func open(_ request: StreamRequest) {
        let writer = StreamWriter(request, streamLoop: self)
        writers[ObjectIdentifier(writer)] = writer
        request.subscriber.listen(StreamWriterListener(writer: ReactorBound(writer, to: reactor)))
        writer.begin()
        if isHandingOver { writer.signalled(.handOver) }
    }

    func handOver() {
        isHandingOver = true
        // One message each, so that the streams of others go on between them.
        for writer in writers.values { ReactorBound(writer, to: reactor).submit { $0.signalled(.handOver) } }
    }

    func forget(_ writer: StreamWriter) {
        writers[ObjectIdentifier(writer)] = nil
        active.decrement()
    }
}
