import CoachCore
import Synchronization

/// A turn in memory, while it runs or is replayed: the released text, its end, and its subscribers. Any thread.
///
/// The `TurnRegistry` keeps a running turn, not a connection: a turn continues when its clients disconnect. The client that began it is
/// only its first subscriber.
public final class LiveTurn: Sendable {
    /// The content of the opening events, the same for every subscriber.
    public let facts: TurnFacts
    /// Estimated tokens of the prompt, which are billed if the instance crashes.
    public let promptTokens: Int
    /// The numbers under which further requests of the model call were recorded, in the order of the requests.
    public let recordedCalls: @Sendable () -> [Int]

    private let state: Mutex<State>
    private let madeAt = ContinuousClock.now

    /// Separates the opening from the text that follows it.
    static let afterOpening = Array("\n\n".utf8)

    /// A turn about to run. `opening` is released at once, before the model's text (tier ≥ 3). `safetyText` is served when every model fails
    /// (tier ≥ 3). The model's text is released through `outputGuard`.
    public init(
        facts: TurnFacts, promptTokens: Int = 0, opening: [UInt8] = [], safetyText: [UInt8]? = nil, outputGuard: GuardedAnswer? = nil,
        recordedCalls: @escaping @Sendable () -> [Int] = { [] }
    ) {
        self.facts = facts
        self.promptTokens = promptTokens
        self.recordedCalls = recordedCalls
        let safetyText = safetyText.map { opening.isEmpty ? $0 : Self.afterOpening + $0 }
        state = Mutex(
            State(
                answer: Answer(opening), outputGuard: outputGuard, hasOpening: !opening.isEmpty,
                machine: TurnMachine(safetyText: safetyText, openingBytes: opening.count)))
    }

    /// A turn that runs on another instance, or whose end is not known here yet: `appendRemote` adds its text, `close` its end.
    public init(tailing facts: TurnFacts) {
        self.facts = facts
        promptTokens = 0
        recordedCalls = { [] }
        state = Mutex(State(answer: Answer(), machine: TurnMachine()))
    }

    /// A turn that is over, replayed from what was saved.
    public init(replaying facts: TurnFacts, content: String, ending: TurnEnding) {
        self.facts = facts
        promptTokens = 0
        recordedCalls = { [] }
        state = Mutex(State(answer: Answer(Array(content.utf8)), machine: TurnMachine(), ending: ending))
    }

    // MARK: The producer's side: model, recovery, remote text

    /// Starts the model call. Its updates arrive on the model's thread; each signals every live subscriber once.
    public func generate(with model: LanguageModel, _ prompt: Prompt, beforeRequest: LanguageModel.BeforeRequest? = nil) {
        // A reference cycle of turn and call until the call's end, which always comes: then `State.take` releases the call, and the call
        // releases its receiver. Not a weak reference, because an object that ever had one makes every other reference to it slower.
        let generation = model.generate(prompt, beforeRequest) { self.received($0) }
        let cancel = state.withLock { state in
            if !state.machine.isEnded { state.generation = generation }
            return state.machine.isStopping
        }
        if cancel { generation.cancel() }
    }

    /// Calls `receive` once with the outcome of the model call, on the thread on which it ends; at once when it has ended. For one
    /// listener, which saves the turn. A callback and not an async function, because a suspended task would hold its memory while the model
    /// generates.
    public func onOutcome(_ receive: @escaping @Sendable (TurnOutcome) -> Void) {
        let outcome: TurnOutcome? = state.withLock { state in
            if state.outcome == nil { state.outcomeListener = receive }
            return state.outcome
        }
        if let outcome { receive(outcome) }
    }

    /// Reports the end to the subscribers. Call after the turn was saved: a client that receives `done` relies on the saved row.
    public func close(_ ending: TurnEnding) {
        let subscribers = state.withLock { state in
            state.ending = ending
            return state.subscribers
        }
        subscribers.notify(.progressed)
    }

    private func received(_ update: ModelUpdate) -> ReleaseState {
        let (subscribers, release) = state.withLock { state in (state.take(update, madeAt), state.releaseState) }
        subscribers.notifyLive()
        // A separate call, so that `take` does not copy an outcome for each token.
        if update.end != nil, let (receive, outcome) = state.withLock({ $0.takeOutcome() }) { receive(outcome) }
        return release
    }

    /// Ends the model call; the released text is kept. Idempotent; no effect when the call has ended.
    public func stop() {
        let generation = state.withLock { state in
            state.machine.stopRequested() ? state.generation : nil
        }
        generation?.cancel()
    }

    /// Whether the model call was stopped and has not ended.
    public var isStopping: Bool { state.withLock { $0.machine.isStopping } }

    /// Adds text of a turn that runs on another instance, which begins at byte `position`. Text that is already here is skipped.
    public func appendRemote(_ text: [UInt8], from position: Int) {
        let subscribers: Subscribers = state.withLock { state in
            let known = state.answer.end - position
            guard known >= 0, text.count > known else { return Subscribers() }
            state.answer.append(text[known...])
            return state.subscribers
        }
        subscribers.notifyLive()
    }

    /// Reports the end of a turn that ran on another instance, with the text that was saved. It is less than what is here when the instance crashed and
    /// the text could not be saved: a subscriber that has read more is then beyond the end.
    public func closeRemote(_ ending: TurnEnding, saved text: [UInt8]) {
        let subscribers = state.withLock { state in
            state.answer = Answer(text)
            state.ending = ending
            return state.subscribers
        }
        subscribers.notify(.progressed)
    }

    public var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// The released text from byte `position` on, and the calls: for a checkpoint.
    public func releasedText(from position: Int) -> (text: [UInt8], calls: CallTally) {
        state.withLock { state in
            (position < state.answer.end ? Array(state.answer.bytes[position...]) : [], state.machine.calls)
        }
    }

    /// The released text so far, and when its first byte after the opening was released.
    public var released: (text: [UInt8], firstAt: ContinuousClock.Instant?) {
        state.withLock { ($0.answer.bytes, $0.firstTextAfter.map { madeAt + $0 }) }
    }

    /// UTF-8 bytes released so far.
    public var releasedBytes: Int { state.withLock { $0.answer.end } }

    /// The end of the turn; nil until it is saved (`close`).
    public var ending: TurnEnding? { state.withLock { $0.ending } }

    /// Waits for the end of the turn. Nil when it was not saved within that time, or another instance continues it.
    public func ending(within timeout: Duration) async -> TurnEnding? {
        let subscriber = Subscriber(deliversAtEnd: true)
        guard add(subscriber, limit: .max) else { return ending }
        defer { remove(subscriber) }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        subscriber.listen(EndListener(continuation: continuation))
        // The end may have come before the subscription.
        if let ending { return ending }
        _ = await stream.first(within: timeout)
        return ending
    }

    /// Resumes `ending(within:)`.
    private struct EndListener: SubscriberListener {
        let continuation: AsyncStream<Void>.Continuation

        func signalled(_ signal: Subscriber.Signal) {
            continuation.yield()
        }
    }

    // MARK: The subscribers' side

    /// Adds a subscriber. Returns false, without an effect, when the turn has `limit` subscribers with the same `deliversAtEnd`. The subscriber
    /// that began the turn is not counted and is always added.
    public func add(_ subscriber: Subscriber, limit: Int) -> Bool {
        state.withLock { state in
            let others = state.subscribers.additionalSubscribers(deliveringAtEnd: subscriber.deliversAtEnd)
            guard subscriber.beganTurn || others < limit else { return false }
            state.subscribers.append(subscriber)
            if state.isHandedOver { subscriber.notify(.handOver) }
            return true
        }
    }

    /// Removes a subscriber. Does not stop the turn.
    public func remove(_ subscriber: Subscriber) {
        state.withLock { $0.subscribers.remove(subscriber) }
    }

    /// Tells all subscribers, also later ones, that another instance continues the turn. It is never closed here.
    public func handOver() {
        let subscribers = state.withLock { state in
            state.isHandedOver = true
            return state.subscribers
        }
        subscribers.notify(.handOver)
    }

    /// Moves a cursor from inside a character to its start.
    public func align(_ cursor: inout Cursor) {
        let start = state.withLock { $0.answer.characterStart(at: cursor.position) }
        cursor.moveBack(to: start)
    }

    /// Reads the next piece after a cursor, at most `maximum` bytes of whole characters, and moves the cursor after it. `read` is called at
    /// most once, inside the turn's lock, with the piece and the new position; the buffer is valid during the call.
    public func step(_ cursor: inout Cursor, maximum: Int, read: (UnsafeBufferPointer<UInt8>, Int) -> Void) -> CursorStep {
        state.withLock { state in
            // Text of a remote turn may arrive after its subscriber, so the cursor may be found to be inside a character only now.
            cursor.moveBack(to: state.answer.characterStart(at: cursor.position))
            let piece = state.answer.read(from: cursor.position, maximum: maximum)
            guard !piece.isEmpty else {
                // Not `map`, which would copy the absent ending.
                guard let ending = state.ending else { return .waiting }
                return .ended(ending)
            }
            cursor.advance(by: piece.count)
            piece.withUnsafeBufferPointer { read($0, cursor.position) }
            return .text(isLast: cursor.position == state.answer.end && state.ending == nil)
        }
    }
}
