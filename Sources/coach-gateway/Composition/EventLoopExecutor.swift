import NIOCore
import NIOPosix

/// Makes NIO's event loops the global executor of Swift's tasks.
enum EventLoopExecutor {
    /// Whether the loops run the tasks. `readyz` on the metrics port shows it.
    nonisolated(unsafe) private(set) static var isInstalled = false  // SAFETY: written once, before the first task exists.

    /// Call first in a server process, before any task exists.
    static func install() {
        isInstalled = NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
    }
}
