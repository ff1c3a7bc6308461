import CGatewayShims

/// The reactor's state that only its thread uses: watches, timers and deferred work.
final class Loop {
    var timers = TimerHeap<() -> Void>()

    private let poller: Poller
    private var watches = WatchTable()
    /// Tokens of the watches registered with epoll, by descriptor. A library may close a descriptor and open another of the same number
    /// before the old watch is ended; the old watch must then leave the new registration alone.
    private var registered: [Int32: UInt64] = [:]
    private var deferred = DeferredQueue()

    init(poller: Poller) {
        self.poller = poller
    }

    // MARK: Watches

    func watch(_ descriptor: Int32, _ interest: Interest, _ handler: any ReadinessHandler) throws(ReactorError) -> Watch {
        let watch = Watch(descriptor: descriptor, interest: interest, token: watches.nextToken)
        if !interest.isEmpty { try register(watch) }
        watches.insert(watch, handler)
        return watch
    }

    func update(_ watch: Watch, _ interest: Interest) throws(ReactorError) {
        guard watches[watch.token] != nil, watch.interest != interest else { return }
        watch.interest = interest
        let isRegistered = registered[watch.descriptor] == watch.token
        switch (isRegistered, interest.isEmpty) {
        case (true, true): unregister(watch)  // epoll reports a hang-up even with an empty event mask
        case (true, false): try poller.modify(watch.descriptor, interest, token: watch.token)
        case (false, false): try register(watch)
        case (false, true): break
        }
    }

    func unwatch(_ watch: Watch) {
        guard watches.remove(watch.token) else { return }
        if registered[watch.descriptor] == watch.token { unregister(watch) }
    }

    private func register(_ watch: Watch) throws(ReactorError) {
        try poller.add(watch.descriptor, watch.interest, token: watch.token)
        registered[watch.descriptor] = watch.token
    }

    private func unregister(_ watch: Watch) {
        registered[watch.descriptor] = nil
        poller.remove(watch.descriptor)
    }

    // MARK: Timers and deferred work

    func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TimerHandle {
        TimerHandle(id: timers.insert(body, at: .now.advanced(by: delay)), loop: self)
    }

    func continueLater(_ work: any DeferredWork) { deferred.append(work) }

    // MARK: The steps of one wake-up, in their order

    /// How long `epoll_wait` may block; nil: without a limit. Zero when deferred work waits, or unless `mayBlock`.
    func longestWait(mayBlock: Bool) -> Duration? {
        guard mayBlock, deferred.isEmpty else { return .zero }
        return timers.nextDeadline().map { ContinuousClock.Instant.now.duration(to: $0) }
    }

    func fire(_ events: UnsafeBufferPointer<gateway_epoll_event>) {
        for event in events {
            if event.token == Poller.wakeToken {
                poller.clearWakeUp()
                continue
            }
            // An earlier handler of this wake-up may have ended this watch: then its token is unknown.
            guard let handler = watches.handler(event.token) else { continue }
            var readiness = Readiness(rawValue: event.ready)
            if readiness.contains(.failed), let watch = watches[event.token] {
                readiness.formUnion(Readiness(rawValue: watch.interest.rawValue))
            }
            handler.ready(readiness)
        }
    }

    /// Calls due timers until the budget is spent. The rest are called in the next wake-up, which follows at once.
    func fireTimers() {
        guard timers.count > 0 else { return }
        let now = ContinuousClock.now
        let end = now + Reactor.budget
        while let body = timers.popDue(now) {
            body()
            if ContinuousClock.now >= end { return }
        }
    }

    /// Calls each deferred work once, in order, until the budget is spent. Work that is deferred meanwhile waits for the next wake-up.
    func continueDeferred() {
        guard !deferred.isEmpty else { return }
        let end = ContinuousClock.now + Reactor.budget
        var left = deferred.count
        while left > 0, let work = deferred.popFirst() {
            work.continueWork()
            left -= 1
            if ContinuousClock.now >= end { return }
        }
    }

    /// Drops all watches, timers and deferred work, and what their closures hold. Called when the thread ends.
    func clear() {
        for watch in watches.all where registered[watch.descriptor] == watch.token { poller.remove(watch.descriptor) }
        watches = WatchTable()
        registered = [:]
        timers = TimerHeap()
        deferred = DeferredQueue()
    }
}
