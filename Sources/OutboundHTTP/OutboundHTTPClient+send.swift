import Synchronization

extension OutboundHTTPClient {
    /// Sends a request and returns the whole response, whatever its status. Cancelling the task ends the request at once.
    /// - Throws: `OutboundError`; `cancelled` when the task was.
    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let call = CancellableCall()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let response = Mutex(OutboundResponse(head: OutboundResponseHead(status: 0), body: []))
                let handlers = OutboundHandlers(
                    head: { head in response.withLock { $0.head = head } },
                    bytes: { bytes in
                        response.withLock { $0.body += bytes }
                        return .more
                    },
                    end: { error in
                        continuation.resume(returning: error.map(Result.failure) ?? .success(response.withLock(\.self)))
                    })
                if !call.start({ self.start(request, handlers) }) {
                    handlers.end(OutboundError(.cancelled, "the request was cancelled"))
                }
            }
        } onCancel: {
            call.cancel()
        }
        return try result.get()
    }
}

/// A request that may be cancelled at any time, also before it is started.
private final class CancellableCall: Sendable {
    private enum State {
        case new
        case started(OutboundTransfer)
        case cancelled
    }

    private let state = Mutex(State.new)

    /// False, and nothing is started, when it was cancelled before.
    func start(_ begin: () -> OutboundTransfer) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .started(begin())
            return true
        }
    }

    func cancel() {
        state.withLock { state in
            if case .started(let transfer) = state { transfer.cancel() }
            state = .cancelled
        }
    }
}
