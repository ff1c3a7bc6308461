import ChatAPI
import HTTPEdge
import Logging
import ServiceLifecycle
import TokenRelay

/// The application, and what a shutdown means for it: readiness goes false, then connections are refused, running turns get time, then their
/// clients are handed over. Turns are never cut: the process waits until the last is saved.
struct DrainingService: Service {
    private let application: GatewayApplication
    private let admission: Admission
    private let registry: TurnRegistry
    private let streamLoop: StreamLoop
    private let gracePeriod: Duration
    private let notice: Duration
    private let isReady: @Sendable () -> Bool
    private let logger: Logger

    /// `gracePeriod`: how long clients may stay with their running turns. `notice`: of it, for load balancers to see that readiness is false,
    /// before connections are refused. `isReady`: whether turns can begin; connections are accepted then, or after `longestStart`.
    init(
        _ application: GatewayApplication, admission: Admission, registry: TurnRegistry, streamLoop: StreamLoop, gracePeriod: Duration,
        notice: Duration, isReady: @escaping @Sendable () -> Bool = { true }, logger: Logger
    ) {
        self.application = application
        self.admission = admission
        self.registry = registry
        self.streamLoop = streamLoop
        self.gracePeriod = gracePeriod
        self.notice = notice
        self.isReady = isReady
        self.logger = logger
    }

    /// Then the database is away, or receipts of the last process still wait for it, and clients are told so.
    private static let longestStart = Duration.seconds(3)

    func run() async throws {
        await waitUntilReady()
        let server = ServiceGroup(configuration: .init(services: [application], logger: logger))
        // Detached, so that `drain` shuts it down and no one else; cancelled with this task.
        let serving = Task.detached { try await server.run() }
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await gracefulShutdown()
                    await drain(server)
                }
                // When the server has ended, no request comes any more. Streams are not the server's, and stay as long as `drain` lets them.
                try await serving.value
                await allEnded()
                group.cancelAll()
            }
        } onCancel: {
            serving.cancel()
        }
        logger.notice("drained")
    }

    /// Suspends until turns can begin, for `longestStart` at most. A turn that came before would be rejected as if the database were away.
    private func waitUntilReady() async {
        let end = ContinuousClock.now + Self.longestStart
        // Polled, because readiness has several causes. Ends early when the task is cancelled.
        while !isReady(), ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(10))) != nil {}
    }

    private func drain(_ server: ServiceGroup) async {
        logger.notice("draining", metadata: ["turns": .stringConvertible(registry.count)])
        admission.close()
        try? await Task.sleep(for: notice)
        await server.triggerGracefulShutdown()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await allEnded() }
            group.addTask { try? await Task.sleep(for: gracePeriod - notice) }
            await group.next()
            group.cancelAll()
        }
        // The turns go on here, and other instances follow them through the checkpoints.
        streamLoop.handOver()
    }

    /// Suspends until no turn and no stream is left, or the task is cancelled.
    private func allEnded() async {
        await registry.drained()
        await streamLoop.drained()
    }
}

extension DrainingService: CustomStringConvertible {
    /// A service group keeps this as the name. Without one it spells out all that is in here, down to the last rule of the crisis grammar.
    var description: String { "DrainingService" }
}
