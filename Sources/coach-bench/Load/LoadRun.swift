import Glibc

/// Runs many clients in one epoll thread. Allocates nothing per token.
final class LoadRun {
    let plan: LoadPlan
    private let poller: Poller
    let streams: UnsafeMutablePointer<ClientStream>
    private var starts: DueHeap
    private let inbox: UnsafeMutableRawBufferPointer
    var figures = LoadFigures()

    private let begun = Clock.now()
    private let windowStart: UInt64
    private var windowEnd: UInt64
    var isMeasuring = false
    private var running = 0
    /// With requests at a rate: the streams that are free, the time of the next request, and its number.
    private var free: [Int32] = []
    private var nextRequestAt: UInt64 = 0
    private var nextRequest = 0
    private var random = SystemRandomNumberGenerator()
    private var arrivals = Mixer()

    init(_ plan: LoadPlan) throws {
        self.plan = plan
        poller = try Poller()
        streams = .allocate(capacity: plan.streams)
        streams.initialize(repeating: ClientStream(), count: plan.streams)
        starts = DueHeap(capacity: 2 * plan.streams + 1)
        inbox = .allocate(byteCount: 262_144, alignment: 16)
        windowStart = begun + plan.ramp + plan.warmUp
        windowEnd = plan.duration > 0 ? windowStart + plan.duration : .max
        for stream in 0..<plan.streams {
            streams[stream].request = stream % plan.requests.count
            if plan.interval > 0 {
                free.append(Int32(stream))
            } else {
                starts.push(.init(due: begun + plan.ramp / UInt64(plan.streams) * UInt64(stream), connection: Int32(stream), serial: 0))
            }
        }
        nextRequestAt = begun
        running = plan.streams
    }

    deinit {
        streams.deinitialize(count: plan.streams)
        streams.deallocate()
        inbox.deallocate()
    }

    func run() {
        let cpu = Clock.processSeconds()
        let end = begun + plan.timeLimit
        while running > 0 {
            poller.wait(pollTimeout()) { stream, ready in handle(stream, ready) }
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

    /// Nanoseconds until the next request is due, at most 10 ms.
    private func pollTimeout() -> Int {
        let now = Clock.now()
        var due = min(now + 10_000_000, starts.first?.due ?? .max)
        if plan.interval > 0, !free.isEmpty, nextRequestAt < windowEnd { due = min(due, nextRequestAt) }
        return due > now ? Int(due - now) : 0
    }

    /// Starts due requests on free streams, if requests are sent at a rate. The latency of a request counts from its scheduled time, also if
    /// no stream was free then.
    private func beginDue(_ now: UInt64) {
        while nextRequestAt <= now, nextRequestAt < windowEnd, let stream = free.popLast() {
            streams[Int(stream)].request = nextRequest
            streams[Int(stream)].dueAt = nextRequestAt
            nextRequest = (nextRequest + 1) % plan.requests.count
            // Not at even intervals, which could always fall beside or between what else is periodic.
            nextRequestAt += UInt64(Double(plan.interval) * Double.random(in: 0.5..<1.5, using: &arrivals))
            begin(Int(stream))
        }
        guard now >= windowEnd else { return }
        if nextRequestAt < windowEnd {
            figures.missed = Int((windowEnd - nextRequestAt) / plan.interval)
            nextRequestAt = windowEnd
        }
        if free.count == plan.streams { running = 0 }
    }

    /// Starts and ends the measured window.
    private func observe(_ now: UInt64, isLast: Bool = false) {
        if !isMeasuring, figures.windowSeconds == 0, now >= windowStart {
            isMeasuring = true
            figures.windowTokens = 0
            windowOpened = now
            windowCPU = Clock.processSeconds()
        }
        if isMeasuring, now >= windowEnd || isLast {
            isMeasuring = false
            figures.windowSeconds = Double(now - windowOpened) / 1e9
            figures.windowCPUSeconds = Clock.processSeconds() - windowCPU
        }
    }

    /// Whether the latency to the first byte is recorded. If each stream has one answer, all of them begin before the window.
    var countsBeginnings: Bool { isMeasuring || plan.duration == 0 && plan.answers == 1 }

    private var windowOpened: UInt64 = 0
    private var windowCPU = 0.0

    // MARK: Requests and responses

    private func begin(_ index: Int) {
        let stream = streams + index
        stream.pointee.sent = 0
        stream.pointee.head.clear()
        stream.pointee.scanner = Stamp.Scanner()
        stream.pointee.tokens = 0
        stream.pointee.isAnswered = false
        stream.pointee.disconnectsAt = 0
        if plan.drop > 0, Double.random(in: 0..<1, using: &random) < plan.drop {
            stream.pointee.disconnectsAt = Int.random(in: 1...max(1, plan.expectedTokens - 1), using: &random)
        }
        figures.begun += 1
        if stream.pointee.descriptor >= 0 {
            stream.pointee.phase = .sending
            return send(index)
        }
        do {
            stream.pointee.descriptor = try Socket.connect(plan.target)
            stream.pointee.phase = .connecting
            stream.pointee.isUsed = false
            figures.connections += 1
            poller.add(stream.pointee.descriptor, writing: true, token: index)
        } catch {
            fail(index, "\(error)")
        }
    }

    private func handle(_ index: Int, _ ready: Poller.Ready) {
        let stream = streams + index
        if stream.pointee.phase == .connecting, ready.toWrite {
            stream.pointee.phase = .sending
            send(index)
            if stream.pointee.phase == .head { poller.modify(stream.pointee.descriptor, writing: false, token: index) }
        } else if stream.pointee.phase == .sending, ready.toWrite {
            send(index)
            if stream.pointee.phase == .head { poller.modify(stream.pointee.descriptor, writing: false, token: index) }
        }
        guard stream.pointee.descriptor >= 0, ready.toRead else { return }
        let count = recv(stream.pointee.descriptor, inbox.baseAddress, inbox.count, 0)
        if count > 0 {
            read(index, UnsafeRawBufferPointer(start: inbox.baseAddress, count: count), at: Clock.now())
        } else if count == 0 {
            closed(index, "closed")
        } else if errno != EAGAIN {
            closed(index, SocketError("recv").description)
        }
    }

    private func send(_ index: Int) {
        let stream = streams + index
        if stream.pointee.sent == 0 { stream.pointee.sentAt = plan.interval > 0 ? stream.pointee.dueAt : Clock.now() }
        let (sent, count) = plan.requests[stream.pointee.request].withUnsafeBytes { bytes in
            let rest = bytes.count - stream.pointee.sent
            guard let base = bytes.baseAddress else { return (0, 0) }
            return (Glibc.send(stream.pointee.descriptor, base + stream.pointee.sent, rest, Int32(MSG_NOSIGNAL)), rest)
        }
        guard sent >= 0 || errno == EAGAIN else { return closed(index, SocketError("send").description) }
        stream.pointee.sent += max(0, sent)
        if sent == count {
            stream.pointee.phase = .head
        } else {
            poller.modify(stream.pointee.descriptor, writing: true, token: index)
        }
    }

    func ended(_ index: Int) {
        let stream = streams + index
        if stream.pointee.status != 200 {
            figures.rejected += 1
        } else if stream.pointee.tokens == plan.expectedTokens {
            figures.complete += 1
            if isMeasuring { figures.windowComplete += 1 }
        } else {
            figures.incomplete += 1
        }
        stream.pointee.isUsed = true
        if stream.pointee.closesAfter || stream.pointee.reader.endsWithConnection { closeSocket(index) }
        next(index, pause: stream.pointee.status == 200 ? 0 : Self.pauseAfterFailure)
    }

    func disconnectEarly(_ index: Int) {
        figures.dropped += 1
        closeSocket(index)
        next(index, pause: 0)
    }

    /// Handles a connection that the server closed or that failed.
    private func closed(_ index: Int, _ why: String) {
        let stream = streams + index
        let wasBody = stream.pointee.phase == .body
        let mayRepeat = stream.pointee.isUsed && !stream.pointee.isAnswered && stream.pointee.phase != .idle
        closeSocket(index)
        if wasBody, stream.pointee.reader.endsWithConnection {
            ended(index)
        } else if mayRepeat {
            figures.begun -= 1
            begin(index)
        } else if stream.pointee.phase != .idle {
            fail(index, why)
        }
    }

    private func fail(_ index: Int, _ why: String) {
        figures.lost += 1
        if figures.firstLoss.isEmpty { figures.firstLoss = "\(why) (\(streams[index].phase), after \(streams[index].tokens) tokens)" }
        closeSocket(index)
        next(index, pause: Self.pauseAfterFailure)
    }

    /// 100 ms in nanoseconds, so that a server that rejects requests is not flooded.
    private static let pauseAfterFailure: UInt64 = 100_000_000

    private func next(_ index: Int, pause: UInt64) {
        let stream = streams + index
        stream.pointee.answers += 1
        if plan.interval > 0 {
            stream.pointee.phase = .idle
            free.append(Int32(index))
            return
        }
        stream.pointee.request = (stream.pointee.request + plan.streams) % plan.requests.count
        let now = Clock.now()
        if plan.duration > 0 ? now < windowStart + plan.duration : stream.pointee.answers < plan.answers {
            stream.pointee.phase = .idle
            // Started by the heap, because a direct call would recurse with fast answers.
            starts.push(.init(due: now + pause, connection: Int32(index), serial: 0))
        } else {
            stream.pointee.phase = .over
            running -= 1
            // The window ends here, because not all streams run any more. Rejected streams do not end it: they are counted in `rejected`.
            if plan.duration == 0, stream.pointee.tokens == plan.expectedTokens { windowEnd = min(windowEnd, now) }
            closeSocket(index)
        }
    }

    private func closeSocket(_ index: Int) {
        guard streams[index].descriptor >= 0 else { return }
        close(streams[index].descriptor)
        streams[index].descriptor = -1
    }

    private func giveUp() {
        for index in 0..<plan.streams where streams[index].phase != .over {
            figures.lost += 1
            if figures.firstLoss.isEmpty {
                figures.firstLoss = "still running at the end (\(streams[index].phase), after \(streams[index].tokens) tokens)"
            }
            closeSocket(index)
            streams[index].phase = .over
        }
        running = 0
    }
}
