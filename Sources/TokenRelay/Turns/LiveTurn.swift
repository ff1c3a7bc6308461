import CoachCore
import Synchronization

/// A turn while it runs, and while it is replayed: the answer, its end, and its subscribers. It belongs to the `TurnRegistry`, not to
/// a connection; the client that began it is merely its first subscriber.
public final class LiveTurn: Sendable {
    /// What the opening events of every subscriber say.
    public let facts: TurnFacts
    /// Estimated tokens of the prompt: what a crash is billed for.
    public let promptTokens: Int

    fileprivate struct State {
        // What a token touches stands together: it is cold when the token comes.
        var answer: Answer
        /// nil when the text was guarded elsewhere.
        var outputGuard: GuardedAnswer?
        var subscribers = Subscribers()
        var outcomeListener: (@Sendable (TurnOutcome) -> Void)?
        /// The opening is the whole answer so far.
        var hasOpening = false
        /// After `madeAt`. Not a `ContinuousClock.Instant`: a state that holds one has no layout that the compiler knows.
        var firstTextAfter: Duration?
        var machine: TurnMachine
        var outcome: TurnOutcome?
        var ending: TurnEnding?
        var generation: Generation?
    }

    private let state: Mutex<State>
    private let madeAt = ContinuousClock.now

    /// Between the opening and what follows it.
    fileprivate static let afterOpening = Array("\n\n".utf8)

    /// A turn about to run. `opening` is released at once, before the model's text (tier ≥ 3). `safetyText` is served when every model fails
    /// (tier ≥ 3). The model's text is released through `outputGuard`.
    public init(
        facts: TurnFacts, promptTokens: Int = 0, opening: [UInt8] = [], safetyText: [UInt8]? = nil, outputGuard: GuardedAnswer? = nil
    ) {
        self.facts = facts
        self.promptTokens = promptTokens
        let safetyText = safetyText.map { opening.isEmpty ? $0 : Self.afterOpening + $0 }
        state = Mutex(
            State(
                answer: Answer(opening), outputGuard: outputGuard, hasOpening: !opening.isEmpty,
                firstTextAfter: opening.isEmpty ? nil : .zero,
                machine: TurnMachine(safetyText: safetyText, openingBytes: opening.count)))
    }

    /// A turn that runs elsewhere, or whose end is not known here yet: `appendRemote` adds what is learnt of it, `close` its end.
    public init(tailing facts: TurnFacts) {
        self.facts = facts
        promptTokens = 0
        state = Mutex(State(answer: Answer(), machine: TurnMachine()))
    }

    /// A turn that is over, replayed from what was saved.
    public init(replaying facts: TurnFacts, content: String, ending: TurnEnding) {
        self.facts = facts
        promptTokens = 0
        state = Mutex(State(answer: Answer(Array(content.utf8)), machine: TurnMachine(), ending: ending))
    }

    // MARK: The model's side

    /// Starts the model. Its events arrive on the model's thread and are handed over together, with one signal a subscriber.
    public func generate(with model: LanguageModel, _ prompt: Prompt) {
        // Not weakly: an object that ever had a weak reference pays for it with every other one. The turn holds the call and the call the
        // turn until the call's end, which always comes: `State.take` lets the call go, and the call its receiver.
        let generation = model.generate(prompt) { self.received($0) }
        let cancel = state.withLock { state in
            if !state.machine.isEnded { state.generation = generation }
            return state.machine.isStopping
        }
        if cancel { generation.cancel() }
    }

    /// Calls `receive` once with the model's end, on the thread that brings it; at once when it is known. For one listener, which saves the turn.
    /// No task waits for it: a task that waits holds its stack for as long as the model generates.
    public func onOutcome(_ receive: @escaping @Sendable (TurnOutcome) -> Void) {
        let outcome: TurnOutcome? = state.withLock { state in
            if state.outcome == nil { state.outcomeListener = receive }
            return state.outcome
        }
        if let outcome { receive(outcome) }
    }

    /// Reports the end to the subscribers, after it was saved: a client that gets `done` can rely on the row.
    public func close(_ ending: TurnEnding) {
        let subscribers = state.withLock { state in
            state.ending = ending
            return state.subscribers
        }
        subscribers.notify(.progressed)
    }

    private func received(_ update: ModelUpdate) -> ReleaseState {
        let (subscribers, listener, release) = state.withLock { state in
            let (subscribers, listener) = state.take(update, madeAt)
            return (subscribers, listener, state.releaseState)
        }
        subscribers.notifyLive()
        if let listener { listener.receive(listener.outcome) }
        return release
    }

    /// Ends the model call; what was released is kept. Idempotent, also when it races with the natural end.
    public func stop() {
        let generation = state.withLock { state in
            state.machine.stopRequested() ? state.generation : nil
        }
        generation?.cancel()
    }

    /// Adds what the owner of a remote turn has released after byte `position`; what is here already is skipped.
    public func appendRemote(_ text: [UInt8], from position: Int) {
        let subscribers: Subscribers = state.withLock { state in
            let known = state.answer.end - position
            guard known >= 0, text.count > known else { return Subscribers() }
            state.answer.append(text[known...])
            return state.subscribers
        }
        subscribers.notifyLive()
    }

    /// Whether there are subscribers.
    public var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// What was released from byte `position` on, and the model: for a checkpoint.
    public func releasedText(from position: Int) -> (text: [UInt8], answeredBy: ModelName?) {
        state.withLock { state in
            (position < state.answer.end ? Array(state.answer.bytes[position...]) : [], state.machine.answeredBy)
        }
    }

    /// The released text so far, and when its first byte came.
    public var released: (text: [UInt8], firstAt: ContinuousClock.Instant?) {
        state.withLock { ($0.answer.bytes, $0.firstTextAfter.map { madeAt + $0 }) }
    }

    /// UTF-8 bytes released so far.
    public var releasedBytes: Int { state.withLock { $0.answer.end } }

    /// The end, once it was saved.
    public var ending: TurnEnding? { state.withLock { $0.ending } }

    /// The end, waiting for it; nil: it was not saved within that time.
    public func ending(within patience: Duration) async -> TurnEnding? {
        let subscriber = Subscriber(deliversAtEnd: true)
        guard add(subscriber, limit: .max) else { return ending }
        defer { remove(subscriber) }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        subscriber.listen(EndListener(continuation: continuation))
        // It may have come before the subscription.
        if let ending { return ending }
        _ = await stream.first(within: patience)
        return ending
    }

    /// Waits for a turn's end.
    private struct EndListener: SubscriberListener {
        let continuation: AsyncStream<Void>.Continuation

        func signalled(_ signal: Subscriber.Signal) {
            if signal == .progressed { continuation.yield() }
        }
    }

    // MARK: The clients' side

    /// Adds a subscriber unless `limit` of its kind, delivered at the end or not, are there already.
    public func add(_ subscriber: Subscriber, limit: Int) -> Bool {
        state.withLock { state in
            guard state.subscribers.count(deliveringAtEnd: subscriber.deliversAtEnd) < limit else { return false }
            state.subscribers.append(subscriber)
            return true
        }
    }

    /// Removes a subscriber; the turn goes on.
    public func remove(_ subscriber: Subscriber) {
        state.withLock { $0.subscribers.remove(subscriber) }
    }

    /// Signals every subscriber.
    public func notifyAll(_ signal: Subscriber.Signal) {
        state.withLock({ $0.subscribers }).notify(signal)
    }

    /// Moves a cursor from inside a character to its start.
    public func align(_ cursor: inout Cursor) {
        let start = state.withLock { $0.answer.characterStart(at: cursor.position) }
        cursor.moveBack(to: start)
    }

    /// Moves a cursor over the next piece, at most `maximum` bytes and whole characters only, and lends the piece to `read`, together with
    /// the place behind it. `read` is called inside the turn's lock, at most once.
    public func step(_ cursor: inout Cursor, maximum: Int, read: (UnsafeBufferPointer<UInt8>, Int) -> Void) -> CursorStep {
        state.withLock { state in
            // A remote turn's text may come after its subscriber: only now can a cursor inside a character be seen.
            cursor.moveBack(to: state.answer.characterStart(at: cursor.position))
            let piece = state.answer.read(from: cursor.position, maximum: maximum)
            guard !piece.isEmpty else { return state.ending.map(CursorStep.ended) ?? .waiting }
            cursor.advance(by: piece.count)
            piece.withUnsafeBufferPointer { read($0, cursor.position) }
            return .text(isLast: cursor.position == state.answer.end && state.ending == nil)
        }
    }
}

// MARK: - What updates change

extension LiveTurn.State {
    /// Returns the subscribers to signal when the answer grew, and the listener of the outcome when it is known.
    fileprivate mutating func take(
        _ update: ModelUpdate, _ madeAt: @autoclosure () -> ContinuousClock.Instant
    ) -> (notify: Subscribers, outcome: (receive: @Sendable (TurnOutcome) -> Void, outcome: TurnOutcome)?) {
        if let name = update.acceptedBy {
            if machine.answeredBy != nil, !machine.hasReleased { outputGuard?.restart() }
            machine.accepted(by: name)
        }
        let before = answer.end
        if machine.isReleasing { machine.released(release(update)) }
        if let usage = update.usage { machine.reported(usage) }
        if let end = update.end, var last = machine.ended(end) {
            answer.append(last.textToAppend)
            if let outputGuard {
                last.outcome.replaced = outputGuard.replaced
                // Of a stopped answer some text is still held; the model has produced it.
                last.outcome.withheldBytes = outputGuard.withheldBytes + outputGuard.heldBytes
            }
            outcome = last.outcome
            // It has ended: see `generate`.
            generation = nil
        }
        let grew = answer.end > before
        if grew, firstTextAfter == nil { firstTextAfter = madeAt().duration(to: .now) }
        guard let outcome, let receive = outcomeListener.take() else { return (grew ? subscribers : Subscribers(), nil) }
        return (grew ? subscribers : Subscribers(), (receive, outcome))
    }

    /// What the model call needs to know of its text.
    var releaseState: ReleaseState { ReleaseState(isReleased: machine.hasReleased, isHeld: outputGuard?.isWaiting ?? false) }

    /// Appends what the output guard releases; returns how many bytes.
    private mutating func release(_ update: ModelUpdate) -> Int {
        let before = answer.end
        switch outputGuard?.take(update.text) ?? .piece {
        case .piece: append(update.text)
        case .output: appendOutput()
        }
        if update.isSilent {
            outputGuard?.releaseHeld()
            appendOutput()
        }
        if let end = update.end, outputGuard != nil {
            // The first sentence was cut before any of it was released: the fixed text answers, not a fragment.
            guard machine.hasReleased || answer.end > before || !end.isFault || !machine.hasSafetyText else { return 0 }
            outputGuard?.finish()
            appendOutput()
        }
        return answer.end - before
    }

    private mutating func appendOutput() {
        guard let output = outputGuard?.output else { return }
        output.withUnsafeBufferPointer { append($0) }
    }

    /// Appends the model's text, apart from an opening.
    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard !text.isEmpty else { return }
        if hasOpening {
            hasOpening = false
            answer.append(LiveTurn.afterOpening)
        }
        answer.append(text)
    }
}
