import CGatewayShims
import Glibc
import Reactor
import Testing

@Suite struct ExecutorHookTests {
    @Test("the hook receives every job of the global executor, and is installed once")
    func installed() async {
        await #expect(processExitsWith: .success) {
            guard !gateway_enqueue_global_hook_is_set() else { exit(1) }
            let reactor = try Reactor(name: "global")
            reactor.start()
            target = reactor
            let isInstalled = gateway_install_enqueue_global_hook { job in
                guard let job else { return }
                target?.enqueue(unsafeBitCast(job, to: UnownedJob.self))
            }
            guard isInstalled, gateway_enqueue_global_hook_is_set() else { exit(2) }
            guard !gateway_install_enqueue_global_hook({ _ in }) else { exit(3) }
            let onReactor = await Task { @concurrent in reactor.isOnReactorThread }.value
            exit(onReactor ? 0 : 4)
        }
    }
}

// SAFETY: written once, before the hook that reads it is installed, in a process of its own.
private nonisolated(unsafe) var target: Reactor?
