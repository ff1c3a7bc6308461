import Hummingbird

/// Answers each request in a task of its own, which is over before the response's body begins.
///
/// A task keeps what its deepest call has taken until it ends, and a connection's task lives as long as the connection: twenty KiB of a
/// request's way, held by each stream for as long as it runs.
struct BriefResponder<Inner: HTTPResponder>: HTTPResponder {
    let inner: Inner

    init(_ inner: Inner) { self.inner = inner }

    @concurrent func respond(to request: Request, context: Inner.Context) async throws -> Response where Inner.Context: Sendable {
        // Immediate: it begins here and now, without a hop.
        let task = Task.immediate { try await inner.respond(to: request, context: context) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
