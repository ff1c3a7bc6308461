import NIOCore

/// Removes the PROXY protocol's header from a connection of a trusted proxy, and keeps the client's address. The header is optional. The
/// time limit is that of ``ConnectionHandler`` for the first request.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The client's address; nil without a header, and when the proxy reported none.
    private(set) var source: NetworkAddress?
    /// The first bytes, until the header is parsed; nil afterwards.
    private var waiting: ByteBuffer? = ByteBuffer()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard var bytes = waiting else { return context.fireChannelRead(data) }
        var read = unwrapInboundIn(data)
        bytes.writeBuffer(&read)
        switch ProxyHeader.parse(bytes.readableBytesView) {
        case .incomplete: waiting = bytes
        case .absent: forward(bytes, context)
        case .header(let length, let source):
            self.source = source
            bytes.moveReaderIndex(forwardBy: length)
            forward(bytes, context)
        case .malformed:
            waiting = nil
            context.close(promise: nil)
        }
    }

    private func forward(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        waiting = nil
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }
}
