import CGatewayShims
import Glibc
import Synchronization

/// An event loop on one thread (epoll): calls the handlers of ready descriptors, due timers, submitted work and executor jobs, one at a
/// time.
///
/// Libraries that are not thread-safe but report readiness (libpq) are used on it without a lock. It is a `SerialExecutor`, so an actor can
/// return it as its `unownedExecutor`. Nothing that runs on it may block, because everything else on the thread would wait.
///
/// The order of a wake-up: ready descriptors, due timers, submitted work and jobs in their order, then deferred work. Each of the last
/// three may use `budget`; the rest is done in the next wake-up, after the descriptors that are ready then. So a descriptor waits at most
/// for the handlers of the other ready descriptors and three budgets, provided that each handler and submission is short. When
/// `saturation` or more descriptors were ready, the thread is saturated; it then sleeps for `saturationPause`, so that each read returns more.
///
/// The thread holds a strong reference to the reactor until `stop()`.
public final class Reactor: SerialExecutor, Sendable {
    /// The name of the thread, as debuggers and `top -H` show it (the kernel keeps 15 bytes).
    public let name: String

    private enum Phase {
        case new
        case running(pthread_t)
        case stopped
    }

    /// The number of ready descriptors in one wake-up from which the thread sleeps for `saturationPause`. A thousand streams of
    /// 20 tokens a second make about 6 descriptors ready in that time.
    static let saturation = 32
    /// Microseconds. Measured at saturation: 300 gave 8 % more tokens with a fifth less CPU for each, and no measurable cost below it;
    /// 1,000 gave no more tokens, and made more than `saturation` descriptors ready in each sleep.
    static let saturationPause: UInt32 = 300

    /// How long timers, submitted work and deferred work may each take in one wake-up. A token that arrives meanwhile is delayed by as
    /// much. Beginning a turn takes about 0.1 ms.
    static let budget = Duration.milliseconds(1)

    private let timeSlice: Duration?
    private let poller: Poller
    private let inbox = Mutex(Inbox())
    private let phase = Mutex(Phase.new)
    private let stopRequested = Atomic(false)
    /// The thread that runs work at present; 0 when none does. After `stop` it may be any caller of `submit`.
    private let owner = Atomic<UInt>(0)
    // SAFETY: touched only by the thread that `owner` names; each method that leads here checks that first.
    private nonisolated(unsafe) let loop: Loop

    /// Makes the reactor; its thread runs from `start()`.
    /// - Parameter timeSlice: 0.1 to 100 ms; nil: the system's. With a shorter one the thread waits less for a processor that others use
    ///   (Linux 6.12 or later). Their share of it stays the same.
    /// - Throws: `ReactorError` when the process has no descriptors left.
    public init(name: String, timeSlice: Duration? = nil) throws {
        self.name = name
        self.timeSlice = timeSlice
        poller = try Poller()
        loop = Loop(poller: poller)
    }

    // MARK: Phase

    /// Starts the thread. Work that was submitted before runs now. No effect after the first call, or after `stop`.
    public func start() {
        phase.withLock { phase in
            guard case .new = phase else { return }
            var thread = pthread_t()
            // SAFETY: `runReactor` takes over the reference and releases it when the thread ends.
            let code = pthread_create(&thread, nil, { runReactor($0) }, Unmanaged.passRetained(self).toOpaque())
            // Without the thread every actor on the reactor would hang, without an error.
            precondition(code == 0, "pthread_create failed with errno \(code)")
            phase = .running(thread)
        }
    }

    /// Ends the thread after the work submitted so far, and waits for its end (called on the reactor's own thread, it does not wait).
    /// Watches, timers and deferred work are dropped without being called. Idempotent.
    ///
    /// Work and jobs that are submitted later run one at a time on a thread that submits, so that calls to an actor of a stopped reactor do
    /// not hang.
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

    /// Whether the caller runs on the reactor's thread, and so may use the methods and objects that are bound to it.
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

    /// Calls `handler` in every wake-up in which the descriptor is ready (level-triggered, unless `Interest.edge`), until `unwatch`.
    ///
    /// Call `unwatch` before closing the descriptor. If a library closed it first and its number was used again, ending the old watch does
    /// not affect a watch of the new descriptor.
    /// - Throws: `ReactorError`, for instance when the descriptor is not open, is a regular file, or is watched already.
    public func watch(_ fd: Int32, _ interest: Interest, _ handler: @escaping (Readiness) -> Void) throws -> Watch {
        try watch(fd, interest, ClosureHandler(handler))
    }

    /// The same with an object as handler, to which the reactor holds a strong reference until `unwatch`.
    public func watch(_ fd: Int32, _ interest: Interest, _ handler: any ReadinessHandler) throws -> Watch {
        checkIsolated()
        return try loop.watch(fd, interest, handler)
    }

    /// Changes the events that a watch waits for. No effect on a watch that has ended or whose descriptor was closed.
    public func update(_ watch: Watch, _ interest: Interest) {
        checkIsolated()
        try? loop.update(watch, interest)
    }

    /// Ends a watch. Its handler is not called again, not even for an event that epoll has already returned in this wake-up. Idempotent,
    /// and allowed inside handlers.
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

    /// Calls `work` once, in a later wake-up after its ready descriptors, due timers and submitted work. Deferred work runs in the order of
    /// these calls.
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

    /// Runs submitted work and jobs until the budget is spent. What is left stays in `batch`.
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
        prepareThread()
        owner.store(Self.currentThread, ordering: .releasing)
        var batch = InboxBatch()
        withUnsafeTemporaryAllocation(of: gateway_epoll_event.self, capacity: 256) { events in
            while !stopRequested.load(ordering: .acquiring) {
                let mayBlock = batch.isEmpty && inbox.withLock { $0.fallAsleep() }
                guard let count = try? poller.wait(loop.longestWait(mayBlock: mayBlock), into: events) else {
                    // `epoll_wait` fails only for an invalid descriptor: other code in the process closed this reactor's.
                    preconditionFailure("epoll_wait failed on reactor \(name)")
                }
                inbox.withLock { $0.wakeUp() }
                loop.fire(UnsafeBufferPointer(rebasing: events[..<count]))
                loop.fireTimers()
                runInbox(&batch)
                loop.continueDeferred()
                if count >= Self.saturation { usleep(Self.saturationPause) }
            }
        }
        loop.clear()
        runLeftovers(batch)
    }

    /// Runs `taken` and then the inbox until it is empty, and marks the reactor as having no thread: from then on submitters run their
    /// work.
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

    private func prepareThread() {
        gateway_name_this_thread(name)
        // Some sandboxes refuse it; then the thread is woken later.
        if let timeSlice { _ = gateway_set_time_slice(UInt64(timeSlice / .nanoseconds(1))) }
        // Writing to a socket that the peer closed must fail with EPIPE, not end the process.
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
