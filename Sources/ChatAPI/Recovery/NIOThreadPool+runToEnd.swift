import NIOPosix

extension NIOThreadPool {
    /// Runs work that blocks, such as removing a file, off the event loops. Returns when it is done, also in a cancelled task.
    func runToEnd(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            submit { _ in
                work()
                continuation.resume()
            }
        }
    }
}
