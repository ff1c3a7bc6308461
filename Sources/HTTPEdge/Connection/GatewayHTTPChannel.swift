import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// One HTTP/1.1 connection: Hummingbird's request loop behind our own limits.
struct GatewayHTTPChannel: ServerChildChannel, HTTPChannelHandler {
    let responder: HTTPChannelHandler.Responder
    let limits: ConnectionLimits
    let log: RequestLog
    /// nil: no proxy is trusted.
    let unauthenticated: UnauthenticatedRequests?

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let connection = ConnectionHandler(limits: limits, log: log, now: .now())
            if unauthenticated?.trusts(channel.remoteAddress) ?? false { try pipeline.addHandler(ProxyHeaderHandler()) }
            try pipeline.addHandler(ConnectionByteHandler(connection))
            try pipeline.addHandler(HTTPResponseEncoder())
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits.decoder)))
            try pipeline.addHandler(connection)
            // One request at a time: a pipelined one is not begun while an answer may still end the connection.
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
    /// A server of such connections.
    static func gateway(
        log: RequestLog, limits: ConnectionLimits = ConnectionLimits(), unauthenticated: UnauthenticatedRequests? = nil
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            GatewayHTTPChannel(responder: responder, limits: limits, log: log, unauthenticated: unauthenticated)
        }
    }
}
