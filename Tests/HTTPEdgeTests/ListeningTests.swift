import Hummingbird
import Logging
import NIOPosix
import ServiceLifecycle
import Testing

@testable import HTTPEdge

@Suite("Listening")
struct ListeningTests {
    private func application() -> some ApplicationProtocol {
        var quiet = Logger(label: "test")
        quiet.logLevel = .critical
        return Application(
            router: Router(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: quiet)
    }

    @Test("a port that is in use is an error, with its reason")
    func taken() async throws {
        let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(other.localAddress?.port)
        let error = await #expect(throws: AddressUnavailable.self) { try await application().listen(host: "127.0.0.1", port: port) }
        #expect(error?.description == "cannot listen on 127.0.0.1:\(port): Address already in use")
        try await other.close()
    }

    @Test("a server that is cancelled at any moment of its start ends", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        // Eight at once, so that a thread is often interrupted in between. Hummingbird's own `run` never ends here.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for turn in 0..<40 {
                        let serving = Task { try await application().listen(host: "127.0.0.1", port: 0) }
                        try await Task.sleep(for: .microseconds((worker + turn * 8) * 10))
                        serving.cancel()
                        _ = await serving.result
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
