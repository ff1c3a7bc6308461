import EventStream
import GatewayAPI
import JSON

/// Parses the responses of successive connections for a `ResumeMachine`. Pure: its inputs are what happens to a connection, its outputs
/// are what `StreamDriver` must do.
struct StreamSession {
    /// What happened on the connection.
    enum Input: Sendable {
        case head(ResponseHead)
        case bytes([UInt8])
        /// The HTTP body ended regularly. The answer may nevertheless be incomplete.
        case end
        case failure(any Error)
        /// The idle timeout divided by `ticksPerIdleTimeout` has passed.
        case tick
    }

    /// What the driver must do, in order. After `reconnect`, `finish` and `fail` it must close the connection.
    enum Step: Equatable {
        case deliver(StreamEvent)
        case reconnect(after: Duration)
        case finish
        case fail(CoachError)
    }

    /// The number of consecutive ticks without a byte after which a connection counts as lost.
    static let ticksPerIdleTimeout = 5
    /// The most bytes of an error response that are kept.
    private static let errorBodyLimit = 64 * 1024

    private(set) var machine: ResumeMachine
    private var head: ResponseHead?
    private var parser = EventStreamParser()
    private var errorBody: [UInt8] = []
    private var idleTicks = 0
    private var isOver = false

    init(_ machine: ResumeMachine) { self.machine = machine }

    /// Prepares for the next connection: keeps the machine and resets everything else.
    mutating func connect() { self = StreamSession(machine) }

    /// Handles an input. `jitter` is a random number in 0..<1 that varies the pause of `reconnect`.
    mutating func receive(_ input: Input, jitter: Double) -> [Step] {
        guard !isOver else { return [] }
        if case .tick = input { return tick(jitter) }
        idleTicks = 0
        switch input {
        case .head(let head): return received(head, jitter)
        case .bytes(let bytes): return received(bytes, jitter)
        case .end: return ended(.connectionLost("the stream ended before the answer did"), jitter)
        case .failure(let error):
            return ended(head == nil ? .unreachable(error) : .connectionLost("the connection was lost: \(error)"), jitter)
        case .tick: return []
        }
    }

    /// The next connection's request could not be made. Returns the pause before the next try, or throws the error of the stream.
    mutating func unsent(_ cause: CoachError, jitter: Double) throws(CoachError) -> Duration {
        switch machine.unsent(cause, jitter: jitter) {
        case .reconnect(let pause): return pause
        case .fail(let error): throw error
        case .deliver, .ignore, .finish: throw cause
        }
    }

    private mutating func tick(_ jitter: Double) -> [Step] {
        idleTicks += 1
        guard idleTicks >= Self.ticksPerIdleTimeout else { return [] }
        return ended(.connectionLost("the connection was idle for too long"), jitter)
    }

    private mutating func received(_ head: ResponseHead, _ jitter: Double) -> [Step] {
        self.head = head
        guard head.isSuccess else { return [] }
        machine.accepted()
        guard head.isEventStream else { return steps(machine.lost(.unreadable("the answer is not an event stream"), jitter: jitter)) }
        return []
    }

    private mutating func received(_ bytes: [UInt8], _ jitter: Double) -> [Step] {
        guard let head else { return [] }
        if !head.isSuccess, !head.isEventStream {
            errorBody.append(contentsOf: bytes.prefix(Self.errorBodyLimit - errorBody.count))
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
        do throws(JSONFinding) {
            // Ignores types that this client does not know, which a newer server may send.
            guard let event = try StreamEvent(json: raw.data) else { return [] }
            if case .error(let failure) = event, !head.isSuccess {
                var error = CoachError(failure)
                error.complete(with: head)
                return steps(machine.rejected(error, jitter: jitter))
            }
            return steps(machine.event(event, id: raw.id.flatMap { Int($0) }, jitter: jitter))
        } catch {
            return steps(machine.lost(.unreadable("an event cannot be read: \(error)"), jitter: jitter))
        }
    }

    /// Ends the connection. Drops an incomplete event, which the resumed stream repeats.
    private mutating func ended(_ error: CoachError, _ jitter: Double) -> [Step] {
        if let head, !head.isSuccess { return steps(machine.rejected(CoachError(head, body: errorBody), jitter: jitter)) }
        return steps(machine.lost(error, jitter: jitter))
    }

    private mutating func steps(_ action: ResumeMachine.Action) -> [Step] {
        switch action {
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
