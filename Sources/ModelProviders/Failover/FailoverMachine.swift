import CoachCore
import TokenRelay

/// Decides which provider is called, how long it has, and how a model call ends. Pure; a part of `ModelCallMachine`.
///
/// Another provider may take over while no text was released. Afterwards none does, because a second answer does not continue the first. `timePassed` is to be
/// called at `deadline`. Inputs that do not fit the state change nothing: a transfer that was given up may still report something.
struct FailoverMachine: Equatable {
    private struct Attempt: Equatable {
        var choice: Int
        var since: MonotonicInstant
        var isRetry = false
    }

    private enum State: Equatable {
        case idle
        /// The request is out, and no response has begun.
        case requesting(Attempt)
        /// The response is an error. Its body is awaited until this time.
        case refusing(Attempt, until: MonotonicInstant)
        /// Status 200, no text yet. `lastActivity`: the last reasoning, else the start.
        case accepted(Attempt, lastActivity: MonotonicInstant)
        /// The only provider refused, and is called again at this time.
        case pausing(until: MonotonicInstant)
        /// Text has come, and none of it was released. `lastActivity`: the last text or reasoning.
        case unreleased(Attempt, lastActivity: MonotonicInstant, bytes: Int)
        /// Some of the text was released.
        case releasing(lastActivity: MonotonicInstant, bytes: Int)
        case ended
    }

    private let limits: CallLimits
    private let providers: [String]
    /// How many of the providers are called, from the first on.
    private var callable: Int
    private var start: MonotonicInstant
    private var state = State.idle
    /// Whether the receiver holds text back, because it has not decided about it.
    private var isHeld = false
    /// Whether the finish reason of the answer is known. Some servers repeat it with each text.
    private var hasFinishReason = false
    /// Whether no text has come with the finish reason or behind it, so that only the end mark is missing.
    private var isFinishing = false
    private var faults = AttemptFaults()

    /// - Parameter providers: their names for the log, in the order in which they are tried; at least one.
    init(providers: [String], limits: CallLimits, start: MonotonicInstant) {
        self.providers = providers
        callable = providers.count
        self.limits = limits
        self.start = start
    }

    @inline(__always) var isEnded: Bool { state == .ended }

    /// The fault of the attempt that failed last while the call went on.
    var lastFault: ModelFault? { faults.last }

    /// Whether text came.
    @inline(__always) var hasText: Bool {
        switch state {
        case .unreleased, .releasing: true
        case .idle, .requesting, .refusing, .accepted, .pausing, .ended: false
        }
    }

    /// Whether text was released, so that no other provider may take over.
    @inline(__always) var hasReleased: Bool {
        if case .releasing = state { true } else { false }
    }

    /// Whether a request is out that has brought no text.
    var isWaitingForText: Bool {
        switch state {
        case .requesting, .refusing, .accepted: true
        case .idle, .pausing, .unreleased, .releasing, .ended: false
        }
    }

    /// When `timePassed` is to be called next; nil: never.
    // Inlined, these read their fields where they stand; called, the driver copies the machine for each token.
    @inline(__always) var deadline: MonotonicInstant? {
        switch state {
        case .idle, .ended: nil
        case .requesting(let attempt): min(attempt.since + limits.firstToken, firstTokenDeadline, turnDeadline)
        case .accepted(_, let lastActivity): min(lastActivity + silence(limits.firstToken), firstTokenDeadline, turnDeadline)
        case .refusing(let attempt, let until): min(until, attempt.since + limits.firstToken, firstTokenDeadline, turnDeadline)
        case .pausing(let until): min(until, firstTokenDeadline, turnDeadline)
        // Another provider can still answer, so silence has the limit of a first text.
        case .unreleased(_, let lastActivity, _): min(lastActivity + silence(limits.firstToken), turnDeadline)
        case .releasing(let lastActivity, _): min(lastActivity + silence(limits.silence), turnDeadline)
        }
    }

    @inline(__always) private func silence(_ limit: Duration) -> Duration {
        isHeld ? limits.held : isFinishing ? min(limits.endMark, limit) : limit
    }

    @inline(__always) private var firstTokenDeadline: MonotonicInstant { start + limits.firstTokenOverall }
    private var turnDeadline: MonotonicInstant { start + limits.turn }
}

// MARK: - Inputs

extension FailoverMachine {
    /// - Parameter start: when the limits over all attempts begin; nil: now.
    mutating func begin(at now: MonotonicInstant, since start: MonotonicInstant? = nil) -> Action {
        guard state == .idle else { return .none }
        self.start = start ?? now
        return request(Attempt(choice: 0, since: now))
    }

    /// The response has status 200. Returns false when it is not used any more.
    mutating func accepted() -> Bool {
        guard case .requesting(let attempt) = state else { return false }
        state = .accepted(attempt, lastActivity: attempt.since)
        return true
    }

    /// The response has another status. Its body may say more.
    mutating func refused(at now: MonotonicInstant) -> Action {
        guard case .requesting(let attempt) = state else { return .none }
        state = .refusing(attempt, until: now + limits.refusalBody)
        return .none
    }

    /// Text of so many bytes, at least one.
    mutating func receivedText(_ count: Int, at now: MonotonicInstant) -> Release {
        isFinishing = false
        let room: Int
        switch state {
        case .accepted(let attempt, _):
            room = limits.answerBytes
            state = .unreleased(attempt, lastActivity: now, bytes: min(count, room))
        case .unreleased(let attempt, _, let bytes):
            room = limits.answerBytes - bytes
            state = .unreleased(attempt, lastActivity: now, bytes: bytes + min(count, room))
        case .releasing(_, let bytes):
            room = limits.answerBytes - bytes
            state = .releasing(lastActivity: now, bytes: bytes + min(count, room))
        case .idle, .requesting, .refusing, .pausing, .ended: return .nothing
        }
        return count <= room ? .all : .atMost(room)
    }

    /// Reasoning has come, so the model is not silent. The limit of its first text begins anew, but not the limit over all attempts.
    mutating func receivedReasoning(at now: MonotonicInstant) { noteActivity(at: now) }

    /// The finish reason is known: an end mark that may follow has a shorter limit from now on, but not a further text, as long as each has come with one.
    mutating func receivedFinishReason(at now: MonotonicInstant, withText: Bool = false) {
        hasFinishReason = true
        guard !isFinishing, !withText else { return }
        switch state {
        case .accepted, .unreleased, .releasing:
            noteActivity(at: now)
            isFinishing = true
        case .idle, .requesting, .refusing, .pausing, .ended: return
        }
    }

    private mutating func noteActivity(at now: MonotonicInstant) {
        // Activity does not delay the release of text that is held back.
        guard !isHeld else { return }
        switch state {
        case .accepted(let attempt, _): state = .accepted(attempt, lastActivity: now)
        case .unreleased(let attempt, _, let bytes): state = .unreleased(attempt, lastActivity: now, bytes: bytes)
        case .releasing(_, let bytes): state = .releasing(lastActivity: now, bytes: bytes)
        case .idle, .requesting, .refusing, .pausing, .ended: return
        }
    }

    /// The receiver reports which text it has released. Returns whether that has changed.
    @discardableResult
    @inline(__always) mutating func released(_ release: ReleaseState) -> Bool {
        guard hasText, release.isHeld != isHeld || release.isReleased && !hasReleased else { return false }
        isHeld = release.isHeld
        if release.isReleased, case .unreleased(_, let lastActivity, let bytes) = state {
            state = .releasing(lastActivity: lastActivity, bytes: bytes)
        }
        return true
    }

    /// The answer is longer than its limit, and the text within the limit was released.
    mutating func reachedBound() -> Action {
        guard hasText else { return .none }
        return end(.failed(ModelFault(kind: .tooLong, detail: "more than \(limits.answerBytes) bytes")))
    }

    /// The failure of an answer that the provider has ended without text; nil when it has text, or none is awaited. Another provider may have a higher token
    /// limit, reason less, or filter less; when none is asked, the call ends with the provider's own reason.
    func failure(of modelEnd: ModelEnd) -> AttemptFailure? {
        guard case .accepted(let attempt, _) = state else { return nil }
        func fault(_ kind: ModelFault.Kind, _ reason: String) -> ModelFault {
            ModelFault(kind: kind, detail: "\(providers[attempt.choice]): \(reason) without text")
        }
        switch modelEnd {
        case .stop, .unknown: return AttemptFailure(fault: fault(.cut, "ended"), blamesProvider: true)
        case .length: return AttemptFailure(fault: fault(.cut, "reached its token limit"), lastEnd: .length)
        case .filtered: return AttemptFailure(fault: fault(.refused, "filtered"), blamesRequest: true, lastEnd: .filtered)
        case .cancelled, .failed: return nil
        }
    }

    /// The provider has ended an answer that has text. One without text has failed (`failure(of:)`).
    mutating func finished(_ modelEnd: ModelEnd) -> Action {
        switch state {
        case .unreleased, .releasing: return end(modelEnd)
        case .idle, .requesting, .refusing, .accepted, .pausing, .ended: return .none
        }
    }

    /// The attempt failed.
    mutating func failed(_ failure: AttemptFailure, at now: MonotonicInstant) -> Action {
        switch state {
        case .requesting(let attempt), .refusing(let attempt, _): return giveUp(attempt, failure, mayRetry: failure.mayRetry, at: now)
        // An accepted request may be billed, so the same provider is not asked again.
        case .accepted(let attempt, _), .unreleased(let attempt, _, _): return giveUp(attempt, failure, mayRetry: false, at: now)
        case .releasing: return end(.failed(failure.fault))
        case .idle, .pausing, .ended: return .none
        }
    }

    /// Leaves the providers from this number on to another call.
    mutating func limit(to count: Int) { callable = count }

    mutating func cancelled() -> Action {
        state == .ended ? .none : end(.cancelled)
    }

    /// Time has passed. Changes nothing before the deadline.
    mutating func timePassed(at now: MonotonicInstant) -> Action {
        guard let deadline, now >= deadline else { return .none }
        // Nothing but an end mark may be missing.
        if !isHeld, isFinishing || hasFinishReason && hasText { return .finishAnswer }
        if now >= turnDeadline {
            return end(.failed(faults.merged(with: ModelFault(kind: .timeLimit, detail: "turn took \(limits.turn)"))))
        }
        if isHeld {
            isHeld = false
            return .releaseHeld
        }
        switch state {
        case .idle, .ended: return .none
        case .unreleased(let attempt, _, _):
            let fault = ModelFault(kind: .stalled, detail: "\(providers[attempt.choice]): silent for \(limits.firstToken)")
            return giveUp(attempt, AttemptFailure(fault: fault), mayRetry: false, at: now)
        case .releasing: return end(.failed(ModelFault(kind: .stalled, detail: "silent for \(limits.silence)")))
        case .requesting(let attempt), .accepted(let attempt, _):
            return giveUp(attempt, AttemptFailure(fault: noFirstToken(attempt, now)), mayRetry: false, at: now)
        case .refusing(let attempt, _):
            if now < min(attempt.since + limits.firstToken, firstTokenDeadline) { return .classifyErrorResponse }
            return giveUp(attempt, AttemptFailure(fault: noFirstToken(attempt, now)), mayRetry: false, at: now)
        case .pausing: return request(Attempt(choice: 0, since: now, isRetry: true))
        }
    }
}

// MARK: - Steps

extension FailoverMachine {
    private mutating func request(_ attempt: Attempt) -> Action {
        isHeld = false
        hasFinishReason = false
        isFinishing = false
        state = .requesting(attempt)
        return .attempt(attempt.choice)
    }

    private mutating func end(_ modelEnd: ModelEnd) -> Action {
        state = .ended
        return .end(modelEnd)
    }

    private mutating func giveUp(_ attempt: Attempt, _ failure: AttemptFailure, mayRetry: Bool, at now: MonotonicInstant) -> Action {
        if failure.hasAnotherKey, now < firstTokenDeadline {
            faults.append(failure.fault)
            return request(Attempt(choice: attempt.choice, since: now, isRetry: attempt.isRetry))
        }
        if failure.endsCall { return end(.failed(faults.merged(with: failure.fault))) }
        if attempt.choice + 1 < callable, now < firstTokenDeadline {
            faults.append(failure.fault)
            return request(Attempt(choice: attempt.choice + 1, since: now))
        }
        let pause = max(limits.retryPause, failure.retryAfter ?? .zero)
        // A second refusal must still be reported in time. Recording the call and connecting may take up to their limits before.
        let longest = pause + CallLedger.timeout + CallLedger.diskTimeout + limits.connect
        if mayRetry, providers.count == 1, !attempt.isRetry, now + longest < start + limits.refusal {
            faults.append(failure.fault)
            state = .pausing(until: now + pause)
            return .pause
        }
        return end(failure.lastEnd ?? .failed(faults.merged(with: failure.fault)))
    }

    private func noFirstToken(_ attempt: Attempt, _ now: MonotonicInstant) -> ModelFault {
        ModelFault(kind: .noFirstToken, detail: "\(providers[attempt.choice]): no text within \(attempt.since.duration(to: now))")
    }
}
