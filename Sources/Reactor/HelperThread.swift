import Glibc

/// Threads for the few calls that block and have no other form, such as host lookup and `PQcancel`. One thread a call, since a lookup that hangs
/// must not hold up a cancellation; both are rare.
public enum HelperThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a thread of its own. False when the system has no thread left.
    public static func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
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
