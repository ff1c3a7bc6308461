import EventStream
import GatewayAPI
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Sheds connections that cost more than they give: nothing sent, a head or a body that trickles, a reader that has stopped reading.
/// Sits behind the HTTP decoder, so it sees whole heads only: that is what makes a trickled one late. What the decoder cannot read it answers
/// as the rest of the edge answers, and a client that waits for `100 Continue` gets it.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long each thing may take.
    struct Limits: Sendable {
        /// From the connection to its first whole head.
        var firstHead = TimeAmount.seconds(10)
        /// From a head to the end of its body.
        var body = TimeAmount.seconds(20)
    }

    private let limits: Limits
    private var deadline: Scheduled<Void>?
    /// Requests whose answer has not ended.
    private var unanswered = 0
    /// The decoder reads nothing behind a request that asks to speak another protocol from then on. Nobody here does: it is answered as any
    /// other, and is the connection's last.
    private var isLast = false
    /// Bytes behind the last request would pile up in front of the decoder.
    private var isDeaf = false

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
        case .head(let head):
            unanswered += 1
            expect(within: limits.body, context)
            if Self.asksToUpgrade(head) { isLast = true }
            if unanswered == 1, Self.waitsToGoOn(head) {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
        case .end:
            stopWaiting()
            isDeaf = isLast
        case .body: break
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if !isDeaf { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where isLast && head.status.kind != .informational:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            unanswered -= 1
            guard isLast, unanswered == 0 else { return context.write(data, promise: promise) }
            let written = promise ?? context.eventLoop.makePromise()
            let channel = context.channel
            written.futureResult.whenComplete { _ in channel.close(promise: nil) }
            context.write(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError, unanswered == 0 else { return context.fireErrorCaught(error) }
        let refusal =
            error == .headerOverflow
            ? GatewayError(.tooLarge, "the request's headers are larger than 32 KiB", status: 431)
            : GatewayError(.invalidInput, "the request is no HTTP that can be read", status: 400)
        let requestID = RequestIdentifier.choose(HTTPFields())
        var (status, fields, body) = refusal.rendered(form: .envelope, requestID: requestID)
        fields[.requestID] = requestID
        fields[.apiVersion] = ResponseMeta.version
        fields[.connection] = "close"
        fields[.contentLength] = String(body.count)
        context.write(wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopWaiting()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stopWaiting() }

    private static func asksToUpgrade(_ head: HTTPRequest) -> Bool {
        head.method == .connect || head.headerFields[values: .connection].contains { $0.lowercased().contains("upgrade") }
    }

    /// A body that is too large is refused without it.
    private static func waitsToGoOn(_ head: HTTPRequest) -> Bool {
        guard head.headerFields[.expect]?.lowercased() == "100-continue" else { return false }
        return (head.headerFields[.contentLength].flatMap { Int($0) } ?? 0) <= Request.maximumBodyBytes
    }

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
