import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Transport {
    /// Uses URLSession. Does not follow redirects, because a token must not reach another host, and caches nothing.
    public static func urlSession() -> Transport {
        let client = URLSessionClient()
        return Transport { try await client.stream($0) }
    }
}

/// Streams responses through a data delegate, the only interface that delivers bytes as they arrive both on Apple platforms and in
/// swift-corelibs-foundation, which has no `bytes(for:)`.
private final class URLSessionClient: Sendable {
    private let session: URLSession
    private let exchanges: Exchanges

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        // A stop request must not queue behind the streams that it stops; the default limit is 6.
        configuration.httpMaximumConnectionsPerHost = 64
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    // The session keeps its delegate until it is invalidated.
    deinit { session.finishTasksAndInvalidate() }

    func stream(_ request: URLRequest) async throws -> Transport.Response {
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { head in
                exchanges.begin(task, head)
                // A cancellation before this line is handled here, a later one by the handler below.
                if Task.isCancelled { exchanges.cancel(task) } else { task.resume() }
            }
        } onCancel: {
            exchanges.cancel(task)
        }
    }
}

/// The running requests by task identifier, and the delegate that delivers their responses.
private final class Exchanges: NSObject, URLSessionDataDelegate {
    private struct Exchange {
        /// Waits for the response's head; nil once it has arrived.
        var head: CheckedContinuation<Transport.Response, any Error>?
        /// nil once the reader has it, so that releasing it there ends the request.
        var body: AsyncThrowingStream<[UInt8], any Error>?
        let bytes: AsyncThrowingStream<[UInt8], any Error>.Continuation
    }

    private let running = Mutex<[Int: Exchange]>([:])

    func begin(_ task: URLSessionDataTask, _ head: CheckedContinuation<Transport.Response, any Error>) {
        // The buffer is unbounded: an answer has at most 64 KiB, and of an archive waits what the app has not read yet.
        let (body, bytes) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        bytes.onTermination = { _ in task.cancel() }
        running.withLock { $0[task.taskIdentifier] = Exchange(head: head, body: body, bytes: bytes) }
    }

    /// Ends the request without waiting for the session's callback, which Linux never makes for a task that was not yet running.
    func cancel(_ task: URLSessionDataTask) {
        end(task, CancellationError())
        task.cancel()
    }

    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        guard let exchange = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.head?.resume(throwing: error ?? URLError(.badServerResponse))
        exchange.bytes.finish(throwing: error)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let exchange = running.withLock { running in
            let exchange = running[dataTask.taskIdentifier]
            running[dataTask.taskIdentifier]?.head = nil
            running[dataTask.taskIdentifier]?.body = nil
            return exchange
        }
        guard let exchange, let body = exchange.body, let response = response as? HTTPURLResponse else {
            return completionHandler(.cancel)
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name.lowercased()] = value }
        }
        exchange.head?.resume(returning: .init(status: response.statusCode, headers: headers, body: body))
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
