import CoachCore

extension LiveTurn {
    /// The state of a turn, behind its lock.
    struct State {
        // Fields that each token accesses come first, next to each other, to share cache lines.
        var answer: Answer
        /// Nil when the text was checked by another instance, or is replayed.
        var outputGuard: GuardedAnswer?
        var subscribers = Subscribers()
        var outcomeListener: (@Sendable (TurnOutcome) -> Void)?
        /// Whether the answer consists of the opening only.
        var hasOpening = false
        /// The time from `madeAt` to the first text after the opening. The opening does not count: a time of zero would reveal that the turn is
        /// about a crisis. Not a `ContinuousClock.Instant`, for the reason that `MonotonicInstant` gives.
        var firstTextAfter: Duration?
        var machine: TurnMachine
        var outcome: TurnOutcome?
        var ending: TurnEnding?
        var isHandedOver = false
        var generation: Generation?
    }
}

// MARK: - Changes

extension LiveTurn.State {
    /// Applies an update of the model. Returns the subscribers to signal; none unless the answer grew. `madeAt` is evaluated only for the first
    /// text, because copying an instant costs time.
    mutating func take(_ update: ModelUpdate, _ madeAt: @autoclosure () -> ContinuousClock.Instant) -> Subscribers {
        if let calls = update.unusedCalls { machine.called(calls) }
        if let name = update.acceptedBy {
            if machine.calls.acceptedBy != nil, !machine.hasReleased { outputGuard?.restart() }
            machine.accepted(by: name)
        }
        let before = answer.end
        if machine.isReleasing { machine.released(release(update)) }
        if let usage = update.usage { machine.reported(usage) }
        if let bytes = update.reasoningBytes { machine.reasoned(bytes) }
        if let end = update.end, var last = machine.ended(end) {
            answer.append(last.textToAppend[...])
            if let outputGuard {
                last.outcome.replaced = outputGuard.replaced
                // A stopped answer still has held text, which the model has produced. The machine counts text that the output guard has forgotten, because
                // another provider had begun to answer.
                last.outcome.withheldBytes = max(last.outcome.withheldBytes, outputGuard.withheldBytes + outputGuard.heldBytes)
            }
            outcome = last.outcome
            // Breaks the reference cycle: see `generate`.
            generation = nil
        }
        let grew = answer.end > before
        if grew, firstTextAfter == nil { firstTextAfter = madeAt().duration(to: .now) }
        return grew ? subscribers : Subscribers()
    }

    /// Removes the listener and returns it with the outcome; nil without an outcome or a listener.
    mutating func takeOutcome() -> (receive: @Sendable (TurnOutcome) -> Void, outcome: TurnOutcome)? {
        guard let outcome, let receive = outcomeListener.take() else { return nil }
        return (receive, outcome)
    }

    /// The result of `LanguageModel.Receiver`.
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
            // The model failed before any of its text was released: the fixed text is the answer, not a fragment.
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

    /// Appends the model's text, after a blank line if only the opening precedes it.
    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard !text.isEmpty else { return }
        if hasOpening {
            hasOpening = false
            answer.append(LiveTurn.afterOpening[...])
        }
        answer.append(text)
    }
}
