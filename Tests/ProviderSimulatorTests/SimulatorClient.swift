import JSON
import NIOCore
import NIOHTTP1
import NIOPosix

@testable import ProviderSimulator

/// Runs a simulator on a free port during `body`.
func withSimulator(
    _ configuration: SimulatorServer.Configuration = .init(), _ body: @Sendable (SimulatorServer, _ port: Int) async throws -> Void
) async throws {
    let server = SimulatorServer(configuration: configuration)
    let (ports, found) = AsyncStream.makeStream(of: Int.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run { found.yield($0) } }
        for await port in ports {
            try await body(server, port)
            break
        }
        group.cancelAll()
        try await group.waitForAll()
    }
}

/// One connection to a simulator that delivers every part of a response as it arrives.
final class SimulatorClient: Sendable {
    enum Part: Sendable, Equatable {
        case head(status: Int)
        /// One HTTP chunk, which is one write of the simulator, or a part of one at the end of a read.
        case bytes([UInt8])
        case end
        /// The connection was closed; with the error if it was not closed regularly.
        case closed(String?)
    }

    let parts: AsyncStream<Part>
    private let channel: any Channel

    private init(parts: AsyncStream<Part>, channel: any Channel) {
        self.parts = parts
        self.channel = channel
    }

    static func connect(_ port: Int) async throws -> SimulatorClient {
        let (parts, continuation) = AsyncStream.makeStream(of: Part.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(PartCollector(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return SimulatorClient(parts: parts, channel: channel)
    }

    /// Sends a chat request.
    func ask(
        _ script: Script = .init(), message: String = "Hello, coach.", model: String = "sim-coach-1", streamed: Bool = true,
        usage: Bool = false,
        key: String? = "test"
    ) async throws {
        var body = [
            JSONMember("model", .string(model)), JSONMember("stream", .bool(streamed)),
            JSONMember("messages", [["role": "user", "content": .string(message)]]),
        ]
        if usage { body.append(JSONMember("stream_options", ["include_usage": true])) }
        var headers: HTTPHeaders = ["host": "simulator", "x-simulator-script": script.json]
        if let key { headers.add(name: "authorization", value: "Bearer \(key)") }
        try await send(.POST, "/v1/chat/completions", headers: headers, body: JSONValue.object(body).bytes)
    }

    func send(_ method: HTTPMethod, _ path: String, headers: HTTPHeaders = ["host": "simulator"], body: [UInt8] = []) async throws {
        var headers = headers
        headers.replaceOrAdd(name: "content-length", value: "\(body.count)")
        channel.write(HTTPClientRequestPart.head(.init(version: .http1_1, method: method, uri: path, headers: headers)), promise: nil)
        channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        try await channel.writeAndFlush(HTTPClientRequestPart.end(nil))
    }

    func hangUp() { channel.close(promise: nil) }

    /// Reads one response: status, body, the chunks it arrived in, and how the connection was closed if that ended it.
    func response() async -> (status: Int?, body: String, writes: [[UInt8]], closed: Part?) {
        var status: Int?
        var writes: [[UInt8]] = []
        var closed: Part?
        reading: for await part in parts {
            switch part {
            case .head(let code): status = code
            case .bytes(let bytes): writes.append(bytes)
            case .end: break reading
            case .closed:
                closed = part
                break reading
            }
        }
        return (status, String(decoding: writes.joined(), as: UTF8.self), writes, closed)
    }
}

private final class PartCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let parts: AsyncStream<SimulatorClient.Part>.Continuation
    private var failure: String?

    init(_ parts: AsyncStream<SimulatorClient.Part>.Continuation) { self.parts = parts }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): parts.yield(.head(status: Int(head.status.code)))
        case .body(let buffer): parts.yield(.bytes(Array(buffer.readableBytesView)))
        case .end: parts.yield(.end)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = (failure.map { $0 + "; " } ?? "") + "\(error)"
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        parts.yield(.closed(failure))
        parts.finish()
    }
}

/// The text of the streamed chunks in a body.
func streamedText(_ body: String) -> String {
    frames(body).compactMap { (try? JSONValue(parsing: Array($0.utf8)))?["choices"]?.elements?.first?["delta"]?["content"]?.string }
        .joined()
}

/// The payloads of the `data:` frames in a body.
func frames(_ body: String) -> [String] {
    body.replacing("\n\n", with: "\u{0}").split(separator: "\u{0}").map { String($0.dropFirst("data: ".count)) }
}
