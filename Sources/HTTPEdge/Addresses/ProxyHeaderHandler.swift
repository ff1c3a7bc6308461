import NIOCore

/// Removes the PROXY protocol's header from a connection of a trusted proxy, and keeps the client's address. A connection without one is HTTP
/// from its first byte. What comes late is the deadline's of ``ConnectionHandler``.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// nil without a header, and when the proxy named no address.
    private(set) var source: NetworkAddress?
    /// The first bytes, until they are decided; nil afterwards.
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
