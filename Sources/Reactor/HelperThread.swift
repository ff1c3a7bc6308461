import Glibc

/// Runs blocking calls that have no asynchronous form, such as host lookup and `PQcancel`. Each call gets a new thread: both are rare, and
/// a lookup that hangs must not delay a cancellation.
public enum HelperThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a new, detached thread and returns at once. False, without running `body`, when the system cannot make a thread.
    public static func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        // SAFETY: the new thread releases the object in `enter`; without a thread it is released here.
        let context = Unmanaged.passRetained(Work(body))
        let code = pthread_create(&thread, nil, { runHelper($0) }, context.toOpaque())
        guard code == 0 else {
            context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    fileprivate static func enter(_ context: UnsafeMutableRawPointer) {
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    }
}

private func runHelper(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { HelperThread.enter(context) }
    return nil
}
