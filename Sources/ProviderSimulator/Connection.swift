import NIOCore
import NIOHTTP1

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Handles one client connection: reads requests and sends their responses one after another, on the connection's event loop. Detects at
/// once that the client closes the connection, even while nothing is sent.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        case idle
        case receiving(HTTPRequestHead, ByteBuffer)
        case answering(ScriptedResponse, Playback, isKeepAlive: Bool)
        case closed
    }

    private static let largestBody = 8 * 1024 * 1024

    private var phase = Phase.idle
    /// Request parts that a pipelining client sent before the current response was complete.
    private var backlog: [HTTPServerRequestPart] = []
    private var timer: NIOScheduledCallback?
    private var context: ChannelHandlerContext?
    private var isPlaying = false
    private let route: (ReceivedRequest) -> Reply

    init(route: @escaping (ReceivedRequest) -> Reply) { self.route = route }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if case .answering = phase { backlog.append(part) } else { receive(part, context: context) }
    }

    private func receive(_ part: HTTPServerRequestPart, context: ChannelHandlerContext) {
        switch (phase, part) {
        case (.idle, .head(let head)):
            if head.headers[canonicalForm: "expect"].contains("100-continue") {
                context.writeAndFlush(wrapOutboundOut(.head(.init(version: head.version, status: .continue))), promise: nil)
            }
            phase = .receiving(head, ByteBuffer())
        case (.receiving(let head, var body), .body(let bytes)):
            guard body.readableBytes + bytes.readableBytes <= Self.largestBody else { return context.close(promise: nil) }
            phase = .receiving(head, ByteBuffer())  // the only reference to the bytes, so appending does not copy them
            body.writeImmutableBuffer(bytes)
            phase = .receiving(head, body)
        case (.receiving(let head, let body), .end):
            answer(ReceivedRequest(head: head, body: body), isKeepAlive: head.isKeepAlive, context: context)
        default: break  // the decoder delivers head, body, end in this order; input after closing is ignored
        }
    }

    private func answer(_ request: ReceivedRequest, isKeepAlive: Bool, context: ChannelHandlerContext) {
        switch route(request) {
        case .fixed(let fixed):
            phase = .idle
            var body = context.channel.allocator.buffer(capacity: fixed.body.count)
            body.writeBytes(fixed.body)
            writeHead(of: fixed, bodyLength: body.readableBytes, isKeepAlive: isKeepAlive, context: context)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            endResponse(isKeepAlive: isKeepAlive, context: context)
        case .scripted(let response):
            let playback = Playback(frames: response.frames, start: Int64(NIODeadline.now().uptimeNanoseconds))
            phase = .answering(response, playback, isKeepAlive: isKeepAlive)
            play()
        }
    }

    /// The connection is closed. If a response was in progress, the client closed it.
    func channelInactive(context: ChannelHandlerContext) {
        finish(.clientClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError, case .idle = phase {
            let encoder = FixedResponse(status: 400, headers: [("connection", "close")], body: [])
            writeHead(of: encoder, bodyLength: 0, isKeepAlive: false, context: context)
            return endResponse(isKeepAlive: false, context: context)
        }
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { play() }
        context.fireChannelWritabilityChanged()
    }

    /// The server stops and cuts the response in progress.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            finish(.stopped)
            return context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }
}

// MARK: - Sending a scripted response

extension Connection: NIOScheduledCallbackHandler {
    func handleScheduledCallback(eventLoop: some EventLoop) { play() }

    private func play() {
        // A write can call this handler again, when the socket becomes full or fails.
        guard !isPlaying, let context else { return }
        isPlaying = true
        defer { isPlaying = false }
        while case .answering(let response, var playback, let isKeepAlive) = phase {
            let step = playback.next(now: Int64(NIODeadline.now().uptimeNanoseconds), isWritable: context.channel.isWritable)
            phase = .answering(response, playback, isKeepAlive: isKeepAlive)
            switch step {
            case .wait(let time):
                timer = try? context.eventLoop.assumeIsolated().scheduleCallback(
                    at: .uptimeNanoseconds(UInt64(time)), handler: self)
                return
            case .waitUntilWritable, .over: return
            case .perform(let steps): perform(steps, of: response, isKeepAlive: isKeepAlive, context: context)
            }
        }
    }

    private func perform(_ steps: [ResponsePlan.Step], of response: ScriptedResponse, isKeepAlive: Bool, context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 512)
        var tokens = 0
        for step in steps {
            switch step {
            case .head:
                response.exchange.answered(status: response.encoder.status)
                writeHead(of: response.encoder, bodyLength: nil, isKeepAlive: isKeepAlive, context: context)
                if steps.count == 1 { context.flush() }
            case .send(let content):
                response.encoder.encode(content, into: &buffer)
                if case .token = content { tokens += 1 }
            case .end:
                flush(&buffer, response: response, tokens: &tokens, context: context)
                finish(response.outcome)
                endResponse(isKeepAlive: isKeepAlive, context: context)
            case .cut(let cut, let inside):
                if let inside {
                    var frame = context.channel.allocator.buffer(capacity: 512)
                    response.encoder.encode(inside, into: &frame)
                    buffer.writeImmutableBuffer(frame.getSlice(at: frame.readerIndex, length: frame.readableBytes / 2) ?? frame)
                }
                flush(&buffer, response: response, tokens: &tokens, context: context)
                finish(.failed)
                close(cut, context: context)
            case .silence: break
            }
        }
        flush(&buffer, response: response, tokens: &tokens, context: context)
    }

    private func flush(_ buffer: inout ByteBuffer, response: ScriptedResponse, tokens: inout Int, context: ChannelHandlerContext) {
        let largest = response.chunkBytes ?? buffer.readableBytes
        while let slice = buffer.readSlice(length: min(max(largest, 1), buffer.readableBytes)), slice.readableBytes > 0 {
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(slice))), promise: nil)
        }
        response.exchange.sentTokens(tokens)
        tokens = 0
        buffer.clear()
    }

    private func writeHead(of encoder: some ResponseEncoder, bodyLength: Int?, isKeepAlive: Bool, context: ChannelHandlerContext) {
        var headers = HTTPHeaders(encoder.headers.map { ($0.name, $0.value) })
        if let bodyLength { headers.replaceOrAdd(name: "content-length", value: "\(bodyLength)") }
        if !isKeepAlive { headers.replaceOrAdd(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: encoder.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Ends the response. Then closes the connection if the client requested it, otherwise handles the backlog.
    private func endResponse(isKeepAlive: Bool, context: ChannelHandlerContext) {
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        guard isKeepAlive else {
            let channel = context.channel
            phase = .closed
            return written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        }
        let parts = backlog
        backlog = []
        for part in parts {
            if case .answering = phase { backlog.append(part) } else { receive(part, context: context) }
        }
    }

    /// Records the outcome of the response. Only the first outcome counts.
    private func finish(_ outcome: Exchange.Outcome) {
        timer?.cancel()
        timer = nil
        guard case .answering(let response, _, _) = phase else { return }
        phase = outcome == .clientClosed ? .closed : .idle
        response.exchange.end(outcome)
    }

    private func close(_ cut: Script.Cut, context: ChannelHandlerContext) {
        phase = .closed
        if cut == .reset, let socket = context.channel as? any SocketOptionProvider {
            // SO_LINGER with zero seconds makes close(2) send RST (socket(7)).
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in }
        }
        context.close(promise: nil)
    }
}
