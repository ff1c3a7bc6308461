import Reactor
import Testing

@testable import TokenRelay

/// The drivers, each with a change of the request that selects it and changes nothing else.
enum DriverKind: String, CaseIterable {
    case direct, libcurl

    var route: TransferRoute {
        switch self {
        case .direct: .direct
        case .libcurl: .libcurl(LibcurlOptions(version: .http1))
        }
    }
}

/// A reactor with a client; both end with the test.
final class TransferBench: Sendable {
    let reactor: Reactor
    let client: TransferClient
    private let driver: DriverKind

    init(_ driver: DriverKind = .direct, _ configuration: TransferConfiguration = TransferConfiguration()) throws {
        self.driver = driver
        reactor = try Reactor(name: "transfers")
        reactor.start()
        client = TransferClient(reactor: reactor, configuration: configuration)
    }

    deinit {
        client.close()
        reactor.stop()
    }

    /// Starts a request with the bench's driver.
    func start(_ request: TransferRequest, _ handlers: TransferHandlers) -> Transfer {
        var request = request
        if request.route == .direct { request.route = driver.route }
        return client.start(request, handlers)
    }

    func start(_ request: TransferRequest) -> (recorder: TransferRecorder, transfer: Transfer) {
        let recorder = TransferRecorder()
        return (recorder, start(request, recorder.handlers))
    }

    func end(of request: TransferRequest) async throws -> TransferEnd { try await start(request).recorder.end() }
}
