import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// The channel pipeline of one HTTP/1.1 connection: Hummingbird's request loop with our `ConnectionHandler` in front of it.
struct GatewayHTTPChannel: ServerChildChannel, HTTPChannelHandler {
    let responder: HTTPChannelHandler.Responder
    let limits: ConnectionLimits
    let log: RequestLog
    let crossOrigin: CrossOrigin
    /// Knows the trusted proxies; nil: no PROXY header is read.
    let unauthenticated: UnauthenticatedRequestLimiter?

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let connection = ConnectionHandler(limits: limits, log: log, crossOrigin: crossOrigin, now: .now())
            if unauthenticated?.trusts(channel.remoteAddress) ?? false { try pipeline.addHandler(ProxyHeaderHandler()) }
            try pipeline.addHandler(ConnectionByteHandler(connection))
            try pipeline.addHandler(HTTPResponseEncoder())
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits.decoder)))
            try pipeline.addHandler(connection)
            // Passes on one request at a time: a pipelined request must not begin while an earlier answer may still end the connection.
            try pipeline.addHandler(HTTPServerPipelineHandler())
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            return try NIOAsyncChannel(wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await handleHTTP(asyncChannel: value, logger: logger)
    }
}

extension ConnectionLimits {
    fileprivate var decoder: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = headBytes
        limits.maxHeaderListSize = headBytes
        limits.maxHeaderFieldCount = headFields
        return limits
    }
}

extension HTTPServerBuilder {
    /// A server whose connections are `GatewayHTTPChannel`s.
    static func gateway(
        log: RequestLog, limits: ConnectionLimits = ConnectionLimits(), crossOrigin: CrossOrigin = .none,
        unauthenticated: UnauthenticatedRequestLimiter? = nil
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            GatewayHTTPChannel(responder: responder, limits: limits, log: log, crossOrigin: crossOrigin, unauthenticated: unauthenticated)
        }
    }
}
