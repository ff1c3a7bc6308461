import EventStream
import GatewayAPI

/// Reads the bytes of one connection after another for a `ResumeMachine`. Pure: what happens to a connection is its input,
/// what the driver must do is its output.
struct StreamSession {
    /// What happened to the connection.
    enum Input: Sendable {
        case head(ResponseHead)
        case bytes([UInt8])
        /// The body ended as HTTP wants it, which says nothing about the answer.
        case end
        case failure(any Error)
        /// A `ticksOfSilence`-th of the longest silence went by.
        case tick
    }

    /// What to do, in order. After `reconnect`, `finish` and `fail` the connection is of no more use.
    enum Step: Equatable {
        case deliver(StreamEvent)
        case reconnect(after: Duration)
        case finish
        case fail(CoachError)
    }

    /// So many ticks in a row without a byte are a lost connection.
    static let ticksOfSilence = 5
    /// More of a refusal's body is not read.
    private static let refusalLimit = 64 * 1024

    private(set) var machine: ResumeMachine
    private var head: ResponseHead?
    private var parser = EventStreamParser()
    private var refusal: [UInt8] = []
    private var silentTicks = 0
    private var isOver = false

    init(_ machine: ResumeMachine) { self.machine = machine }

    /// Another connection begins.
    mutating func connect() { self = StreamSession(machine) }

    /// `jitter` is a random number in 0..<1, used when the answer is a pause.
    mutating func receive(_ input: Input, jitter: Double) -> [Step] {
        guard !isOver else { return [] }
        if case .tick = input { return tick(jitter) }
        silentTicks = 0
        switch input {
        case .head(let head): return received(head, jitter)
        case .bytes(let bytes): return received(bytes, jitter)
        case .end: return ended(.connectionLost("the stream ended before the answer did"), jitter)
        case .failure(let error):
            return ended(head == nil ? .unreachable(error) : .connectionLost("the connection was lost: \(error)"), jitter)
        case .tick: return []
        }
    }

    private mutating func tick(_ jitter: Double) -> [Step] {
        silentTicks += 1
        guard silentTicks >= Self.ticksOfSilence else { return [] }
        return ended(.connectionLost("the connection fell silent"), jitter)
    }

    private mutating func received(_ head: ResponseHead, _ jitter: Double) -> [Step] {
        self.head = head
        guard head.isSuccess else { return [] }
        machine.opened()
        guard head.isEventStream else { return steps(machine.lost(.unreadable("the answer is not an event stream"), jitter: jitter)) }
        return []
    }

    private mutating func received(_ bytes: [UInt8], _ jitter: Double) -> [Step] {
        guard let head else { return [] }
        if !head.isSuccess, !head.isEventStream {
            refusal.append(contentsOf: bytes.prefix(Self.refusalLimit - refusal.count))
            return []
        }
        var events: [ServerSentEvent] = []
        var isUnreadable = false
        do {
            try parser.feed(bytes) { events.append($0) }
        } catch {
            isUnreadable = true
        }
        var steps: [Step] = []
        for event in events where !isOver { steps += received(event, head, jitter) }
        if isUnreadable, !isOver { steps += self.steps(machine.lost(.unreadable("an event is too long"), jitter: jitter)) }
        return steps
    }

    private mutating func received(_ raw: ServerSentEvent, _ head: ResponseHead, _ jitter: Double) -> [Step] {
        do throws(WireError) {
            // Types that are younger than this client are none of its business.
            guard let event = try StreamEvent(json: raw.data) else { return [] }
            if case .error(let failure) = event, !head.isSuccess {
                var error = CoachError(failure)
                error.complete(with: head)
                return steps(machine.refused(error, jitter: jitter))
            }
            return steps(machine.event(event, id: raw.id.flatMap { Int($0) }, jitter: jitter))
        } catch {
            return steps(machine.lost(.unreadable("an event cannot be read: \(error)"), jitter: jitter))
        }
    }

    /// Bytes of an event that is not complete are dropped; the resumed stream brings it again.
    private mutating func ended(_ error: CoachError, _ jitter: Double) -> [Step] {
        if let head, !head.isSuccess { return steps(machine.refused(CoachError(head, body: refusal), jitter: jitter)) }
        return steps(machine.lost(error, jitter: jitter))
    }

    private mutating func steps(_ reaction: ResumeMachine.Reaction) -> [Step] {
        switch reaction {
        case .deliver(let event): return [.deliver(event)]
        case .ignore: return []
        case .finish(let event):
            isOver = true
            return [.deliver(event), .finish]
        case .reconnect(let pause):
            isOver = true
            return [.reconnect(after: pause)]
        case .fail(let error):
            isOver = true
            return [.fail(error)]
        }
    }
}
