import CGatewayShims

/// The part of the reactor that only its thread touches: watches, timers, and work that is done piece by piece.
final class Loop {
    var timers = TimerHeap<() -> Void>()

    private let poller: Poller
    private var watches = WatchTable()
    /// The watch whose registration the kernel holds, by descriptor. A library may close a descriptor and open another of the same number
    /// before it reports that; then the older watch must not touch the newer one's registration.
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
        case (true, true): unregister(watch)  // epoll reports a hang-up even to those who ask for nothing
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

    // MARK: One wake-up, in this order

    /// How long the thread may wait: nil means for ever.
    func longestWait(mayLinger: Bool) -> Duration? {
        guard mayLinger, deferred.isEmpty else { return .zero }
        return timers.nextDeadline().map { ContinuousClock.Instant.now.duration(to: $0) }
    }

    func fire(_ events: UnsafeBufferPointer<gateway_epoll_event>) {
        for event in events {
            if event.token == Poller.wakeToken {
                poller.clearWakeUp()
                continue
            }
            // An earlier handler of this batch may have ended this watch: its token is unknown then.
            guard let handler = watches.handler(event.token) else { continue }
            var readiness = Readiness(rawValue: event.ready)
            if readiness.contains(.failed), let watch = watches[event.token] {
                readiness.formUnion(Readiness(rawValue: watch.interest.rawValue))
            }
            handler.ready(readiness)
        }
    }

    /// Calls what is due. Timers beyond the budget are called in the next wake-up, which follows at once.
    func fireTimers() {
        guard timers.count > 0 else { return }
        let now = ContinuousClock.now
        let end = now + Reactor.budget
        while let body = timers.popDue(now) {
            body()
            if ContinuousClock.now >= end { return }
        }
    }

    /// Calls each piece of work that was deferred before this wake-up once, in order, until the budget is spent. The rest keeps its place.
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

    /// The thread ends: drops what can no longer happen, and with it what the closures hold.
    func clear() {
        for watch in watches.all where registered[watch.descriptor] == watch.token { poller.remove(watch.descriptor) }
        watches = WatchTable()
        registered = [:]
        timers = TimerHeap()
        deferred = DeferredQueue()
    }
}
