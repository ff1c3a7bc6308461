import NIOCore
import NIOPosix

/// Makes NIO's event loops the executor of all tasks that name none.
enum ExecutorTakeover {
    /// Whether the loops run the tasks. `readyz` on the metrics port shows it.
    nonisolated(unsafe) private(set) static var isInstalled = false  // SAFETY: written once, before the first task exists.

    /// To be called first thing in a server process.
    static func install() {
        isInstalled = NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
    }
}
