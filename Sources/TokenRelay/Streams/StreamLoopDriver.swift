import Reactor

/// The part of `StreamLoop` on the reactor's thread: owns the writers and the buffers that they share. Use only on that thread.
final class StreamLoopDriver {
    let reactor: Reactor
    let limits: StreamLimits
    /// The buffer through which every writer writes, so that a waiting writer needs none.
    var frame = ChunkFrame()
    /// Receives bytes that clients send after their request; they are ignored.
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
        // Each writer by a submission of its own, so that tokens of other streams are written between them.
        for writer in writers.values { ReactorBound(writer, to: reactor).submit { $0.signalled(.handOver) } }
    }

    func forget(_ writer: StreamWriter) {
        writers[ObjectIdentifier(writer)] = nil
        active.decrement()
    }
}
