import CGatewayShims
import Glibc
import Synchronization

/// One thread that waits for sockets, timers and messages, and runs everything that belongs to them, one thing at a time.
///
/// Libraries that are not thread-safe but report readiness (libpq) live on it without a lock. It is a `SerialExecutor`, so an
/// actor may name it as its `unownedExecutor`. Nothing that runs on it may block: everything else on it would wait.
///
/// A wake-up goes: ready descriptors, due timers, messages in the order they came, then deferred work. Each of the last three may use `budget`;
/// what it does not get done goes on in the next wake-up, after the descriptors that are ready then. So nothing waits for longer than the ready
/// descriptors and three budgets take, and each handler and message keeps its own work bounded. When a crowd of descriptors was ready, the
/// thread does not keep up, and rests for a moment, so that each read brings more.
/// The thread keeps the reactor alive until `stop()`.
public final class Reactor: SerialExecutor, Sendable {
    /// The name of the thread, as debuggers and `top -H` show it (the kernel keeps 15 bytes).
    public let name: String

    private enum Phase {
        case new
        case running(pthread_t)
        case stopped
    }

    /// Ready descriptors in one wake-up from which on the thread rests. A thousand streams of 20 tokens a second bring about 6 in `rest`.
    static let crowd = 32
    /// Microseconds. At saturation 300 gave 8 % more tokens with a fifth less CPU each, and in a paced load cost nothing that stood out of the noise; 1,000 gave no more,
    /// and kept up the crowd that it waits for.
    static let rest: UInt32 = 300

    /// How long timers, messages and deferred work may each take in one wake-up: a token that arrives meanwhile waits for so long. A turn's
    /// beginning takes about 0.1 ms.
    static let budget = Duration.milliseconds(1)

    private let poller: Poller
    private let inbox = Mutex(Inbox())
    private let phase = Mutex(Phase.new)
    private let stopRequested = Atomic(false)
    /// The thread that runs jobs at present; 0 when none does.
    private let owner = Atomic<UInt>(0)
    // SAFETY: touched only by the thread that `owner` names; each method that leads here checks that first.
    private nonisolated(unsafe) let loop: Loop

    /// - Throws: `ReactorError` when the process has no descriptors left.
    public init(name: String) throws {
        self.name = name
        poller = try Poller()
        loop = Loop(poller: poller)
    }

    // MARK: Phase

    /// Starts the thread. What was submitted before runs now. Nothing happens when it was started before.
    public func start() {
        phase.withLock { phase in
            guard case .new = phase else { return }
            var thread = pthread_t()
            let code = pthread_create(&thread, nil, { runReactor($0) }, Unmanaged.passRetained(self).toOpaque())
            // Without its thread every actor on it would hang silently; there is no way to go on.
            precondition(code == 0, "pthread_create failed with errno \(code)")
            phase = .running(thread)
        }
    }

    /// Ends the thread after the work submitted so far, and waits for that; on the reactor's own thread it does not wait. Watches and timers are
    /// dropped without being called. Idempotent.
    ///
    /// Work and jobs that come later run one at a time on the thread that submits them, so that an actor which outlives its reactor cannot
    /// hang its callers.
    public func stop() {
        let before = phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
        switch before {
        case .new:
            runLeftovers()
        case .running(let thread):
            stopRequested.store(true, ordering: .releasing)
            poller.wake()
            if isOnReactorThread {
                pthread_detach(thread)
            } else {
                pthread_join(thread, nil)
            }
        case .stopped:
            break
        }
    }

    // MARK: From any thread

    /// Runs `work` on the reactor's thread, after everything that was submitted before it.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        add(.work(work))
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Whether the caller runs on the reactor, that is, may use what belongs to it.
    public var isOnReactorThread: Bool {
        owner.load(ordering: .relaxed) == Self.currentThread
    }

    public func checkIsolated() {
        precondition(isOnReactorThread, "not on the thread of reactor \(name)")
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isOnReactorThread
    }

    // MARK: Only on the reactor's thread

    /// Calls `handler` in every wake-up in which the descriptor is ready (level-triggered, unless edge-triggered), until `unwatch`.
    ///
    /// Unwatch before closing the descriptor. If a library closed it first and a new descriptor has its number, both watches stay apart.
    /// - Throws: `ReactorError`, for instance when the descriptor is not open, is a regular file, or is watched already.
    public func watch(_ fd: Int32, _ interest: Interest, _ handler: @escaping (Readiness) -> Void) throws -> Watch {
        try watch(fd, interest, ClosureHandler(handler))
    }

    /// The same with an object, which the watch holds until `unwatch`.
    public func watch(_ fd: Int32, _ interest: Interest, _ handler: any ReadinessHandler) throws -> Watch {
        checkIsolated()
        return try loop.watch(fd, interest, handler)
    }

    /// Changes what is waited for. An ended watch, or one whose descriptor was closed meanwhile, is left as it is.
    public func update(_ watch: Watch, _ interest: Interest) {
        checkIsolated()
        try? loop.update(watch, interest)
    }

    /// Ends a watch: its handler is not called again, not even for what this wake-up has already seen. Idempotent, and allowed inside handlers.
    public func unwatch(_ watch: Watch) {
        checkIsolated()
        loop.unwatch(watch)
    }

    /// Runs `body` once, not before `delay` has passed, normally within a millisecond after it.
    @discardableResult
    public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TimerHandle {
        checkIsolated()
        return loop.schedule(after: delay, body)
    }

    /// Calls `work` once in a later wake-up, after the descriptors that are ready then, due timers and messages. Work is called in the order in
    /// which it was given here.
    public func continueLater(_ work: any DeferredWork) {
        checkIsolated()
        loop.continueLater(work)
    }

    // MARK: The thread

    private static var currentThread: UInt { UInt(pthread_self()) }

    private func add(_ item: Inbox.Item) {
        switch inbox.withLock({ $0.add(item) }) {
        case .nothing: break
        case .wake: poller.wake()
        case .drainHere: runLeftovers()
        }
    }

    private func perform(_ item: Inbox.Item) {
        switch item {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .work(let work): work()
        }
    }

    /// Performs what waits, until the budget is spent.
    private func runInbox(_ batch: inout InboxBatch) {
        if batch.isEmpty { inbox.withLock { batch.refill(from: &$0) } }
        guard !batch.isEmpty else { return }
        let end = ContinuousClock.now + Self.budget
        while let item = batch.popFirst() {
            perform(item)
            if ContinuousClock.now >= end { return }
        }
    }

    fileprivate func run() {
        nameThisThread()
        owner.store(Self.currentThread, ordering: .releasing)
        var batch = InboxBatch()
        withUnsafeTemporaryAllocation(of: gateway_epoll_event.self, capacity: 256) { events in
            while !stopRequested.load(ordering: .acquiring) {
                let mayLinger = batch.isEmpty && inbox.withLock { $0.fallAsleep() }
                guard let count = try? poller.wait(loop.longestWait(mayLinger: mayLinger), into: events) else {
                    // Only a closed or invalid epoll descriptor leads here: other code closed this reactor's descriptor.
                    preconditionFailure("epoll_wait failed on reactor \(name)")
                }
                inbox.withLock { $0.wakeUp() }
                loop.fire(UnsafeBufferPointer(rebasing: events[..<count]))
                loop.fireTimers()
                runInbox(&batch)
                loop.continueDeferred()
                if count >= Self.crowd { usleep(Self.rest) }
            }
        }
        loop.clear()
        runLeftovers(batch)
    }

    /// Runs what was taken from the inbox and what is still in it, until nothing is, then leaves it to those who come later.
    private func runLeftovers(_ taken: InboxBatch = InboxBatch()) {
        owner.store(Self.currentThread, ordering: .releasing)
        var batch = taken
        repeat {
            while let item = batch.popFirst() { perform(item) }
            inbox.withLock { batch.refill(from: &$0) }
        } while !batch.isEmpty
            || !inbox.withLock { inbox in
                let isLast = inbox.items.isEmpty
                if isLast { owner.store(0, ordering: .releasing) }
                return inbox.leave()
            }
    }

    private func nameThisThread() {
        gateway_name_this_thread(name)
        // A peer that closed its socket is an error of the write, not a reason to end the process.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

private func runReactor(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Reactor>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
