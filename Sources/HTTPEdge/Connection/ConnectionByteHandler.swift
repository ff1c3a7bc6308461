import NIOCore

/// Reports the size of undecoded input to ``ConnectionHandler``, to limit input for which the decoder emits nothing: incomplete heads and
/// the framing of chunks. Also reports the size of encoded output, to know how much of it the client has taken.
final class ConnectionByteHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let connection: ConnectionHandler

    init(_ connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        guard connection.bytesArrived(buffer.readableBytes) else { return }
        context.fireChannelRead(data)
        connection.bytesDecoded(isBlank: Self.isBlank(buffer), endsHead: Self.endsHead(buffer))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        connection.bytesWritten(unwrapOutboundIn(data).readableBytes)
        context.write(data, promise: promise)
    }

    private static func endsHead(_ buffer: ByteBuffer) -> Bool {
        let tail = buffer.readableBytesView.suffix(4)
        return tail.elementsEqual("\r\n\r\n".utf8) || tail.suffix(2).elementsEqual("\n\n".utf8)
    }

    private static func isBlank(_ buffer: ByteBuffer) -> Bool {
        buffer.readableBytes <= 4 && buffer.readableBytesView.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    }
}
