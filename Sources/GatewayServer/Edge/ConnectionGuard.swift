import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Sheds connections that cost more than they give: nothing sent, a head or a body that trickles, a reader that has stopped reading.
/// Sits behind the HTTP decoder, so it sees whole heads only: that is what makes a trickled one late.
final class ConnectionGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// How long each thing may take.
    struct Limits: Sendable {
        /// From the connection to its first whole head.
        var firstHead = TimeAmount.seconds(10)
        /// From a head to the end of its body.
        var body = TimeAmount.seconds(20)
    }

    private let limits: Limits
    private var deadline: Scheduled<Void>?

    init(limits: Limits = Limits()) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expect(within: limits.firstHead, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        expect(within: limits.firstHead, context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: expect(within: limits.body, context)
        case .end: stopWaiting()
        case .body: break
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopWaiting()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stopWaiting() }

    private func expect(within time: TimeAmount, _ context: ChannelHandlerContext) {
        if deadline != nil, time == limits.firstHead { return }
        stopWaiting()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    private func stopWaiting() {
        deadline?.cancel()
        deadline = nil
    }
}
