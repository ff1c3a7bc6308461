import Hummingbird

/// Runs each request in a task of its own, which ends before the response's body is written. Saves memory: a task keeps the memory of its
/// deepest call until it ends, and the connection's task runs as long as the connection. Without this each stream holds the 20 KiB that
/// routing and `begin_turn` needed.
struct RequestTaskResponder<Inner: HTTPResponder>: HTTPResponder {
    let inner: Inner

    init(_ inner: Inner) { self.inner = inner }

    @concurrent func respond(to request: Request, context: Inner.Context) async throws -> Response where Inner.Context: Sendable {
        // Immediate: starts on this thread, without a hop. The connection's task cancels it.
        let task = Task.immediate { try await inner.respond(to: request, context: context) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
