import Glibc

/// Many clients in one epoll thread. Nothing is allocated for a token.
final class LoadRun {
    let plan: LoadPlan
    private let poller: Poller
    let lanes: UnsafeMutablePointer<Lane>
    private var starts: DueHeap
    private let inbox: UnsafeMutableRawBufferPointer
    var figures = LoadFigures()

    private let begun = Clock.now()
    private let opens: UInt64
    private var closes: UInt64
    var isMeasuring = false
    private var running = 0
    /// With requests at a rate: the streams that are free, when the next request is due, and whose it is.
    private var free: [Int32] = []
    private var nextRequestAt: UInt64 = 0
    private var nextRequest = 0
    private var random = SystemRandomNumberGenerator()

    init(_ plan: LoadPlan) throws {
        self.plan = plan
        poller = try Poller()
        lanes = .allocate(capacity: plan.streams)
        lanes.initialize(repeating: Lane(), count: plan.streams)
        starts = DueHeap(capacity: 2 * plan.streams + 1)
        inbox = .allocate(byteCount: 262_144, alignment: 16)
        opens = begun + plan.ramp + plan.warmUp
        closes = plan.duration > 0 ? opens + plan.duration : .max
        for lane in 0..<plan.streams {
            lanes[lane].request = lane % plan.requests.count
            if plan.interval > 0 {
                free.append(Int32(lane))
            } else {
                starts.push(.init(due: begun + plan.ramp / UInt64(plan.streams) * UInt64(lane), connection: Int32(lane), serial: 0))
            }
        }
        nextRequestAt = begun
        running = plan.streams
    }

    deinit {
        lanes.deinitialize(count: plan.streams)
        lanes.deallocate()
        inbox.deallocate()
    }

    func run() {
        let cpu = Clock.processSeconds()
        let end = begun + plan.patience
        while running > 0 {
            poller.wait(patience()) { lane, ready in handle(lane, ready) }
            let now = Clock.now()
            if plan.interval > 0 { beginDue(now) }
            while let next = starts.first, next.due <= now {
                starts.pop()
                begin(Int(next.connection))
            }
            observe(now)
            if now >= end { giveUp() }
        }
        observe(Clock.now(), isLast: true)
        figures.wallSeconds = Double(Clock.now() - begun) / 1e9
        figures.cpuSeconds = Clock.processSeconds() - cpu
    }

    /// Nanoseconds until something is to be begun, at most 10 ms.
    private func patience() -> Int {
        let now = Clock.now()
        var due = min(now + 10_000_000, starts.first?.due ?? .max)
        if plan.interval > 0, !free.isEmpty, nextRequestAt < closes { due = min(due, nextRequestAt) }
        return due > now ? Int(due - now) : 0
    }

    /// Requests at a rate: whoever is free makes the next. For whom nobody is free the clock runs all the same.
    private func beginDue(_ now: UInt64) {
        while nextRequestAt <= now, nextRequestAt < closes, let lane = free.popLast() {
            lanes[Int(lane)].request = nextRequest
            lanes[Int(lane)].dueAt = nextRequestAt
            nextRequest = (nextRequest + 1) % plan.requests.count
            nextRequestAt += plan.interval
            begin(Int(lane))
        }
        guard now >= closes else { return }
        if nextRequestAt < closes {
            figures.missed = Int((closes - nextRequestAt) / plan.interval)
            nextRequestAt = closes
        }
        if free.count == plan.streams { running = 0 }
    }

    /// Opens and closes the window that is measured.
    private func observe(_ now: UInt64, isLast: Bool = false) {
        if !isMeasuring, figures.windowSeconds == 0, now >= opens {
            isMeasuring = true
            figures.windowTokens = 0
            windowOpened = now
            windowCPU = Clock.processSeconds()
        }
        if isMeasuring, now >= closes || isLast {
            isMeasuring = false
            figures.windowSeconds = Double(now - windowOpened) / 1e9
            figures.windowCPUSeconds = Clock.processSeconds() - windowCPU
        }
    }

    /// Where each stream has one answer they all begin before the window.
    var countsBeginnings: Bool { isMeasuring || plan.duration == 0 && plan.answers == 1 }

    private var windowOpened: UInt64 = 0
    private var windowCPU = 0.0

    // MARK: An answer's life

    private func begin(_ index: Int) {
        let lane = lanes + index
        lane.pointee.sent = 0
        lane.pointee.head.clear()
        lane.pointee.scanner = Stamp.Scanner()
        lane.pointee.tokens = 0
        lane.pointee.isAnswered = false
        lane.pointee.leavesAt = 0
        if plan.drop > 0, Double.random(in: 0..<1, using: &random) < plan.drop {
            lane.pointee.leavesAt = Int.random(in: 1...max(1, plan.expectedTokens - 1), using: &random)
        }
        figures.begun += 1
        if lane.pointee.descriptor >= 0 {
            lane.pointee.phase = .sending
            return send(index)
        }
        do {
            lane.pointee.descriptor = try Socket.connect(plan.target)
            lane.pointee.phase = .connecting
            lane.pointee.isUsed = false
            figures.connections += 1
            poller.add(lane.pointee.descriptor, writing: true, token: index)
        } catch {
            fail(index, "\(error)")
        }
    }

    private func handle(_ index: Int, _ ready: Poller.Ready) {
        let lane = lanes + index
        if lane.pointee.phase == .connecting, ready.toWrite {
            lane.pointee.phase = .sending
            send(index)
            if lane.pointee.phase == .head { poller.modify(lane.pointee.descriptor, writing: false, token: index) }
        } else if lane.pointee.phase == .sending, ready.toWrite {
            send(index)
            if lane.pointee.phase == .head { poller.modify(lane.pointee.descriptor, writing: false, token: index) }
        }
        guard lane.pointee.descriptor >= 0, ready.toRead else { return }
        let count = recv(lane.pointee.descriptor, inbox.baseAddress, inbox.count, 0)
        if count > 0 {
            read(index, UnsafeRawBufferPointer(start: inbox.baseAddress, count: count), at: Clock.now())
        } else if count == 0 {
            closed(index, "closed")
        } else if errno != EAGAIN {
            closed(index, SocketError("recv").description)
        }
    }

    private func send(_ index: Int) {
        let lane = lanes + index
        if lane.pointee.sent == 0 { lane.pointee.sentAt = plan.interval > 0 ? lane.pointee.dueAt : Clock.now() }
        let (sent, count) = plan.requests[lane.pointee.request].withUnsafeBytes { bytes in
            let rest = bytes.count - lane.pointee.sent
            guard let base = bytes.baseAddress else { return (0, 0) }
            return (Glibc.send(lane.pointee.descriptor, base + lane.pointee.sent, rest, Int32(MSG_NOSIGNAL)), rest)
        }
        guard sent >= 0 || errno == EAGAIN else { return closed(index, SocketError("send").description) }
        lane.pointee.sent += max(0, sent)
        if sent == count {
            lane.pointee.phase = .head
        } else {
            poller.modify(lane.pointee.descriptor, writing: true, token: index)
        }
    }

    func ended(_ index: Int) {
        let lane = lanes + index
        if lane.pointee.status != 200 {
            figures.refused += 1
        } else if lane.pointee.tokens == plan.expectedTokens {
            figures.complete += 1
            if isMeasuring { figures.windowComplete += 1 }
        } else {
            figures.incomplete += 1
        }
        lane.pointee.isUsed = true
        if lane.pointee.closesAfter || lane.pointee.reader.endsWithConnection { hangUp(index) }
        next(index, pause: lane.pointee.status == 200 ? 0 : Self.pauseAfterFailure)
    }

    func leave(_ index: Int) {
        figures.dropped += 1
        hangUp(index)
        next(index, pause: 0)
    }

    /// The connection is gone.
    private func closed(_ index: Int, _ why: String) {
        let lane = lanes + index
        let wasBody = lane.pointee.phase == .body
        let mayRepeat = lane.pointee.isUsed && !lane.pointee.isAnswered && lane.pointee.phase != .idle
        hangUp(index)
        if wasBody, lane.pointee.reader.endsWithConnection {
            ended(index)
        } else if mayRepeat {
            figures.begun -= 1
            begin(index)
        } else if lane.pointee.phase != .idle {
            fail(index, why)
        }
    }

    private func fail(_ index: Int, _ why: String) {
        figures.lost += 1
        if figures.loss.isEmpty { figures.loss = "\(why) (\(lanes[index].phase), after \(lanes[index].tokens) tokens)" }
        hangUp(index)
        next(index, pause: Self.pauseAfterFailure)
    }

    /// 100 ms: nobody is hammered with what he refuses.
    private static let pauseAfterFailure: UInt64 = 100_000_000

    private func next(_ index: Int, pause: UInt64) {
        let lane = lanes + index
        lane.pointee.answers += 1
        if plan.interval > 0 {
            lane.pointee.phase = .idle
            free.append(Int32(index))
            return
        }
        lane.pointee.request = (lane.pointee.request + plan.streams) % plan.requests.count
        let now = Clock.now()
        if plan.duration > 0 ? now < opens + plan.duration : lane.pointee.answers < plan.answers {
            lane.pointee.phase = .idle
            // Through the heap, so that a fast answer does not recurse.
            starts.push(.init(due: now + pause, connection: Int32(index), serial: 0))
        } else {
            lane.pointee.phase = .over
            running -= 1
            // From now on not all streams run. (Those that were refused are counted, and make the figures those of fewer streams.)
            if plan.duration == 0, lane.pointee.tokens == plan.expectedTokens { closes = min(closes, now) }
            hangUp(index)
        }
    }

    private func hangUp(_ index: Int) {
        guard lanes[index].descriptor >= 0 else { return }
        close(lanes[index].descriptor)
        lanes[index].descriptor = -1
    }

    private func giveUp() {
        for index in 0..<plan.streams where lanes[index].phase != .over {
            figures.lost += 1
            if figures.loss.isEmpty {
                figures.loss = "still running at the end (\(lanes[index].phase), after \(lanes[index].tokens) tokens)"
            }
            hangUp(index)
            lanes[index].phase = .over
        }
        running = 0
    }
}
