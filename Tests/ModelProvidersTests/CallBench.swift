import CoachCore
import Foundation
import Glibc
import NIOPosix
import ProviderSimulator
import Reactor
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

/// Simulated providers, and a language model that is routed over them in their order.
struct CallBench: Sendable {
    let model: LanguageModel
    let router: ModelRouter
    let configuration: ModelConfiguration
    /// Its thread is the relay's.
    let reactor: Reactor
    let providers: [SimulatorServer]

    static let names = ["one", "two", "three"]

    /// Limits that no busy machine reaches, for tests that are not about them.
    static let patient = CallLimits(connect: .seconds(30), firstToken: .seconds(30), firstTokenOverall: .seconds(60), silence: .seconds(60))

    /// Runs `body` with one provider for each script; nil: nobody listens at its port. The route has each provider's models. Each run has threads of
    /// its own, so that a crowd in one test does not keep another waiting.
    static func run(
        _ scripts: Script?..., limits: CallLimits = patient, key: String? = nil, dialect: Dialect = .openAI, sentKeys: String = "sk-canary",
        isHedged: Bool = false, models: [String] = ["sim-coach-1"], prepare: (inout Provider) -> Void = { _ in },
        _ body: (CallBench) async throws -> Void
    ) async throws {
        let reactor = try Reactor(name: "models")
        reactor.start()
        let client = TransferClient(reactor: reactor)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer {
            client.close()
            reactor.stop()
            loops.shutdownGracefully { _ in }
        }
        let closedPort = try ClosedPort()
        try await withThrowingDiscardingTaskGroup { group in
            var providers: [SimulatorServer] = []
            var ports: [Int] = []
            for script in scripts {
                guard let script else {
                    ports.append(closedPort.number)
                    continue
                }
                let server = SimulatorServer(configuration: .init(key: key, defaultScript: script), eventLoopGroup: loops)
                let (listening, continuation) = AsyncStream.makeStream(of: Int.self)
                group.addTask { try await server.run { continuation.yield($0) } }
                ports.append(try #require(await listening.first { _ in true }))
                providers.append(server)
            }
            let named = zip(names, ports).map { name, port in
                let base = "http://127.0.0.1:\(port)\(dialect.format.basePath)"
                var provider = Provider(name: name, dialect: dialect, baseURL: base, keyVariable: "KEY")
                prepare(&provider)
                return (name, provider)
            }
            let choices = named.flatMap { named in models.map { ModelChoice(name: ModelName(provider: named.0, model: $0)) } }
            let configuration = ModelConfiguration(
                providers: Dictionary(uniqueKeysWithValues: named),
                defaultRoute: Route(choices[0], Array(choices.dropFirst()), isHedged: isHedged),
                routes: [:],
                limits: limits)
            let keys = ProviderKeys(of: configuration, environment: ["KEY": sentKeys, "ID": "AKID", "SECRET": "shh"])
            let model = makeLanguageModel(
                configuration: configuration, route: configuration.defaultRoute, keys: keys, transfers: client,
                health: client.bind(ProviderHealth()))
            let router = ModelRouter(
                configuration: configuration, route: configuration.defaultRoute, keys: keys, transfers: client,
                health: client.bind(ProviderHealth()))
            try await body(CallBench(model: model, router: router, configuration: configuration, reactor: reactor, providers: providers))
            group.cancelAll()
        }
    }

    /// Asks with this message, and waits for the end.
    func ask(_ message: String = "hello") async throws -> CallRecord {
        let (recorder, _) = start(message)
        return try await recorder.ended()
    }

    func start(
        _ message: String = "hello", recorder: CallRecorder = CallRecorder(), beforeRequest: LanguageModel.BeforeRequest? = nil,
        tracing: RequestTracing? = nil
    ) -> (recorder: CallRecorder, generation: Generation) {
        var prompt = Self.prompt(message)
        prompt.tracing = tracing
        return (recorder, model.generate(prompt, beforeRequest) { recorder.take($0) })
    }

    static func prompt(_ message: String) -> Prompt {
        Prompt(messages: [.init(role: .user, content: message)], maximumOutputTokens: 100_000)
    }
}

/// A port that is taken and refuses connections.
final class ClosedPort {
    let number: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}

/// What a call told.
struct CallRecord: Sendable {
    var bytes: [UInt8] = []
    var accepted: [String] = []
    var unusedCalls: [UnusedCall] = []
    /// Whether the first thing told was who accepted the call.
    var beganWithAcceptance: Bool?
    var usage: TokenUsage?
    var reasoningBytes = 0
    var ends: [ModelEnd] = []
    var start = ContinuousClock.now
    var endedAt: ContinuousClock.Instant?
    var toldAfterEnd = false
    var emptyUpdates = 0

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var isEmpty: Bool { beganWithAcceptance == nil }
    var fault: ModelFault? { if case .failed(let fault)? = ends.first { fault } else { nil } }
    var duration: Duration { start.duration(to: endedAt ?? .now) }
}

final class CallRecorder: Sendable {
    private let record = Mutex(CallRecord())
    private let release: @Sendable (_ text: String, _ isSilent: Bool) -> ReleaseState

    /// `release`: what has become of the text so far.
    init(
        _ release: @escaping @Sendable (_ text: String, _ isSilent: Bool) -> ReleaseState = { text, _ in
            ReleaseState(isReleased: !text.isEmpty)
        }
    ) {
        self.release = release
    }

    var now: CallRecord { record.withLock { $0 } }

    func take(_ update: ModelUpdate) -> ReleaseState {
        record.withLock { record in
            if record.endedAt != nil { record.toldAfterEnd = true }
            if update.unusedCalls == nil, update.acceptedBy == nil, update.text.isEmpty, update.usage == nil, !update.isSilent,
                update.reasoningBytes == nil, update.end == nil
            {
                record.emptyUpdates += 1
            }
            if record.isEmpty { record.beganWithAcceptance = update.acceptedBy != nil }
            record.unusedCalls += update.unusedCalls ?? []
            if let name = update.acceptedBy { record.accepted.append(name.provider) }
            record.bytes += update.text
            record.usage = update.usage ?? record.usage
            record.reasoningBytes = update.reasoningBytes ?? record.reasoningBytes
            if let end = update.end {
                record.ends.append(end)
                record.endedAt = .now
            }
            return release(record.text, update.isSilent)
        }
    }

    /// The record once the call has ended; checks that it ended once, last.
    func ended(sourceLocation: SourceLocation = #_sourceLocation) async throws -> CallRecord {
        try await eventually { self.now.endedAt != nil }
        let record = now
        #expect(record.ends.count == 1 && !record.toldAfterEnd && record.emptyUpdates == 0, sourceLocation: sourceLocation)
        return record
    }
}

extension Script {
    /// An answer without pauses, changed as the test wants it.
    static func quick(_ change: (inout Script) -> Void = { _ in }) -> Script {
        var script = Script()
        script.firstTokenMs = 0
        script.paceMs = 0
        change(&script)
        return script
    }

    static func refusing(_ status: Int, code: String? = nil) -> Script {
        quick { $0.httpError = HTTPError(status: status, code: code) }
    }
}
