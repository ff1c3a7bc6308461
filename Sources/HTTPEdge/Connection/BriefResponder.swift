import Hummingbird

/// Runs each request in a task of its own, which ends before the response's body begins.
///
/// A task keeps the stack memory of its deepest call until it ends, and a connection's task lives as long as the connection. Without this
/// each stream holds the 20 KiB that routing and begin_turn needed.
struct BriefResponder<Inner: HTTPResponder>: HTTPResponder {
    let inner: Inner

    init(_ inner: Inner) { self.inner = inner }

    @concurrent func respond(to request: Request, context: Inner.Context) async throws -> Response where Inner.Context: Sendable {
        // Immediate: it starts on this thread, without a hop. Cancelled with the connection's task.
        let task = Task.immediate { try await inner.respond(to: request, context: context) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
