import NIOCore

/// Shows ``ConnectionHandler`` the bytes that the decoder gets: what it does not make parts of, a head that trickles or the wrapping of chunks,
/// has its limits too.
final class ConnectionByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionHandler

    init(_ connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        guard connection.bytesArrived(buffer.readableBytes) else { return }
        context.fireChannelRead(data)
        connection.bytesDecoded(isBlank: Self.isBlank(buffer))
    }

    private static func isBlank(_ buffer: ByteBuffer) -> Bool {
        buffer.readableBytes <= 4 && buffer.readableBytesView.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    }
}
