import Synchronization

extension OutboundHTTPClient {
    /// Sends a request and returns the complete response, whatever its status. Cancelling the task ends the request at once.
    /// - Throws: `OutboundError`; its code is `cancelled` when the task was cancelled.
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

/// One call of `send`: passes its task's cancellation to its transfer, also when it comes before the transfer is started.
private final class CancellableCall: Sendable {
    private enum State {
        case new
        case started(OutboundTransfer)
        case cancelled
    }

    private let state = Mutex(State.new)

    /// Calls `begin`, unless `cancel` was called before: then returns false.
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
