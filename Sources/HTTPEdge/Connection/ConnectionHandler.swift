import GatewayAPI
import Hummingbird
import NIOCore
import NIOHTTP1

/// Enforces the limits of one connection: a channel handler between the decoder and Hummingbird that performs what ``ConnectionMachine``
/// decides.
///
/// It answers requests that are invalid or too slow with the usual error, sends `100 Continue` when the client expects it, and closes the
/// connection so that the client can read the last answer.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let log: RequestLog
    private let crossOrigin: CrossOrigin
    private var machine: ConnectionMachine
    /// Nil outside of a pipeline.
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var timerDeadline = NIODeadline.distantFuture
    /// Whether the last request is HTTP/1.0, whose response has no chunked coding (RFC 9112 §7).
    private var isHTTP10 = false
    /// Whether the answer that is written is of HTTP/1.0. Such a request is the connection's last; the answers to earlier ones are of HTTP/1.1.
    private var isAnsweringHTTP10: Bool { isHTTP10 && machine.unanswered == 1 }
    /// The head of a rejected request: its `Accept` selects the format of the answer, its `Origin` who may read it.
    private var rejectedHead: HTTPRequestHead?

    init(limits: ConnectionLimits, log: RequestLog, crossOrigin: CrossOrigin = .none, now: NIODeadline) {
        self.log = log
        self.crossOrigin = crossOrigin
        machine = ConnectionMachine(limits, now: now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        setTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
    }

    // MARK: Bytes, before they are decoded and after they are encoded

    /// Called before input is decoded. Returns false when it must be discarded.
    func bytesArrived(_ count: Int) -> Bool {
        machine.discarded(count)
        machine.bytesArrived(count)
        return machine.isReading
    }

    /// Called after input was decoded; the parameters as in `ConnectionMachine.bytesDecoded`.
    func bytesDecoded(isBlank: Bool, endsHead: Bool) {
        guard let context else { return }
        act(machine.bytesDecoded(isBlank: isBlank, endsHead: endsHead, now: .now()), context)
        setTimer(context)
    }

    /// Called for output after it was encoded.
    func bytesWritten(_ count: Int) { machine.bytesWritten(count) }

    /// Another writer sends the rest of the answer: this handler stops reading and has no more deadlines. Returns whether the answer's head
    /// announced chunked coding.
    func detach() -> Bool {
        let isChunked = !isAnsweringHTTP10
        machine.detached()
        return isChunked
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let action =
            switch unwrapInboundIn(data) {
            case .head(let head): headArrived(head, context)
            case .body(let bytes): machine.bodyArrived(bytes.readableBytes)
            case .end: machine.requestEnded(now: .now())
            }
        if action == .forward { context.fireChannelRead(data) } else { act(action, context) }
    }

    private func headArrived(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) -> ConnectionMachine.Action {
        let isChunked = head.headers.contains(name: "transfer-encoding")
        let length = isChunked ? nil : head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        let fault = RequestFault(in: head)
        let action = machine.headArrived(
            fault, closes: !head.isKeepAlive || head.version == .http1_0 || Self.requestsUpgrade(head), length: length, now: .now())
        if fault != nil { rejectedHead = head }
        guard action == .forward else { return action }
        isHTTP10 = head.version == .http1_0
        // Not for a body above the limit of most routes, which is rejected unread, and not amid the answer to an earlier request. Both work without it:
        // clients send the body after a pause (RFC 9110 §10.1.1).
        let expectsContinue = head.headers.first(name: "expect")?.lowercased() == "100-continue"
        if expectsContinue, !isHTTP10, machine.unanswered == 1, length ?? 0 <= Request.maximumBodyBytes {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        return action
    }

    /// Whether a request asks for another protocol. NIO's decoder stops after it, so it must be the connection's last. No route supports
    /// upgrades: the request is answered like any other.
    private static func requestsUpgrade(_ head: HTTPRequestHead) -> Bool {
        head.method == .CONNECT || head.headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPParserError:
            act(machine.decodingFailed(error == .headerOverflow ? .headTooLarge : .malformed), context)
        // The client has reset the connection, as one that changes its network: for a handler that reads the body, as if it had closed it.
        case is IOError where machine.isReadingBody: context.fireErrorCaught(RequestFault.malformed)
        default: context.fireErrorCaught(error)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { act(machine.inputEnded(), context) }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        if machine.isReading || machine.discards { context.read() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The handlers after this one have ended and request no more reads.
        if machine.discards { context.read() }
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            if machine.answerBegan(closes: !head.isKeepAlive) { head.headers.replaceOrAdd(name: "connection", value: "close") }
            if isAnsweringHTTP10 { head.version = .http1_0 }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            let action = machine.answerEnded(now: .now())
            if action == .finish { return finish(context, with: promise) }
            context.write(data, promise: promise)
            act(action, context)
            setTimer(context)
        default: context.write(data, promise: promise)
        }
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        observeOutput(context)
        setTimer(context)
    }

    /// Tells the machine what the client has not taken. The usual flush, after which the socket has everything, costs no system call.
    private func observeOutput(_ context: ChannelHandlerContext) {
        // Fails only for a channel that is closed.
        let held = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        guard held > 0 || machine.hasPendingOutput else { return }
        machine.outputObserved(held: held, unacknowledged: ClientSocket.unacknowledged(context.channel), now: .now())
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        // The last response is written: closes the connection as soon as the client has read it.
        case .all where machine.isEnding: context.channel.closeFuture.cascade(to: promise)
        case .output where machine.isEnding: promise?.succeed()
        case .output:
            machine.finished(now: .now())
            setTimer(context)
            context.close(mode: mode, promise: promise)
            context.read()
        case .all, .input: context.close(mode: mode, promise: promise)
        }
    }

    // MARK: Actions

    private func act(_ action: ConnectionMachine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .none, .forward: break
        case .failBody(let fault): context.fireErrorCaught(fault)
        case .reject(let fault): reject(fault, context)
        case .finish: endOutput(context)
        case .close: context.close(promise: nil)
        case .reset:
            ClientSocket.discardUnread(context.channel)
            context.close(promise: nil)
        }
    }

    private func reject(_ fault: RequestFault, _ context: ChannelHandlerContext) {
        let error = GatewayError(fault)
        let requestID = RequestIdentifier.choose { rejectedHead?.headers.first(name: $0.rawName) }
        let format = ErrorFormat(accept: rejectedHead?.headers.first(name: "accept"), path: rejectedHead?.uri)
        let (status, rendered, body) = error.rendered(format: format, requestID: requestID)
        var fields = rendered
        crossOrigin.write(to: &fields, origin: rejectedHead?.headers.first(name: "origin"))
        var head = HTTPResponseHead(
            version: isHTTP10 ? .http1_0 : .http1_1, status: HTTPResponseStatus(statusCode: status.code), headers: HTTPHeaders(fields))
        head.headers.add(name: "x-request-id", value: requestID)
        head.headers.add(name: "x-api-version", value: ResponseMeta.version)
        head.headers.add(name: "connection", value: "close")
        head.headers.add(name: "content-length", value: String(body.count))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if rejectedHead?.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
        log.record(requestID: requestID, method: rejectedHead?.method.rawValue ?? "none", route: "none", status: status.code)
        finish(context)
    }

    /// Ends the last answer, then our side of the connection, and discards further input for a while: closing a connection with unread
    /// bytes resets it, and the client may lose the answer.
    private func finish(_ context: ChannelHandlerContext, with promise: EventLoopPromise<Void>? = nil) {
        let written = promise ?? context.eventLoop.makePromise()
        machine.finishes(now: .now())
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            if let context = self.context, machine.isEnding { endOutput(context) }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        observeOutput(context)
        setTimer(context)
    }

    private func endOutput(_ context: ChannelHandlerContext) {
        machine.finished(now: .now())
        setTimer(context)
        context.close(mode: .output, promise: nil)
        context.read()
    }

    /// Sets the timer if the deadline is earlier than before. If it has moved later, as most do, the timer is set again when it fires.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard let deadline = machine.deadline, deadline < timerDeadline else { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timerDeadline = .distantFuture
            guard let context = self.context else { return }
            observeOutput(context)
            act(machine.timeout(now: .now()), context)
            setTimer(context)
        }
    }
}
