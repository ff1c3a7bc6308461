import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Transport {
    /// The system's HTTP client. Redirects are not followed, because a token must not travel to another host, and nothing is
    /// cached or kept on disk.
    public static func urlSession() -> Transport {
        let client = URLSessionClient()
        return Transport { try await client.stream($0) }
    }
}

/// Speaks through a data delegate, the one interface that hands over bytes as they arrive both on Apple platforms and in
/// swift-corelibs-foundation (which has no `bytes(for:)`).
private final class URLSessionClient: Sendable {
    private let session: URLSession
    private let exchanges: Exchanges

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        // A stop must not queue behind the streams that it is to stop; the usual limit is 6.
        configuration.httpMaximumConnectionsPerHost = 64
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    // The session keeps its delegate until it is invalidated.
    deinit { session.finishTasksAndInvalidate() }

    func stream(_ request: URLRequest) async throws -> Transport.Response {
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                exchanges.begin(task, waiting)
                // Whoever is cancelled before this line is seen here, whoever is cancelled after it by the handler below.
                if Task.isCancelled { exchanges.abandon(task) } else { task.resume() }
            }
        } onCancel: {
            exchanges.abandon(task)
        }
    }
}

/// The running exchanges by the number of their task.
private final class Exchanges: NSObject, URLSessionDataDelegate {
    private struct Exchange {
        /// Whoever waits for the head; nil once it has come.
        var waiting: CheckedContinuation<Transport.Response, any Error>?
        let body: AsyncThrowingStream<[UInt8], any Error>
        let bytes: AsyncThrowingStream<[UInt8], any Error>.Continuation
    }

    private let running = Mutex<[Int: Exchange]>([:])

    func begin(_ task: URLSessionDataTask, _ waiting: CheckedContinuation<Transport.Response, any Error>) {
        // Unbounded, as the answer to one message is small (64 KiB) and the reader is the app itself.
        let (body, bytes) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        bytes.onTermination = { _ in task.cancel() }
        running.withLock { $0[task.taskIdentifier] = Exchange(waiting: waiting, body: body, bytes: bytes) }
    }

    /// Does not wait for the session to report the cancellation: on Linux it never does for a task that was not yet running.
    func abandon(_ task: URLSessionDataTask) {
        end(task, CancellationError())
        task.cancel()
    }

    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        guard let exchange = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.waiting?.resume(throwing: error ?? URLError(.badServerResponse))
        exchange.bytes.finish(throwing: error)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let exchange = running.withLock { running in
            let exchange = running[dataTask.taskIdentifier]
            running[dataTask.taskIdentifier]?.waiting = nil
            return exchange
        }
        guard let exchange, let response = response as? HTTPURLResponse else { return completionHandler(.cancel) }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        exchange.waiting?.resume(returning: .init(status: response.statusCode, headers: headers, body: exchange.body))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        running.withLock { $0[dataTask.taskIdentifier]?.bytes }?.yield(Array(data))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task, error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
