import CoachCore
import TokenRelay

/// The state of one model call: which attempt's reports count, what its response has brought, and what to deliver to the receiver. Pure; the
/// driver (`ModelCall`) holds transfer, reader and timer. `FailoverMachine`, which it contains, decides about attempts and time.
///
/// Text stays in the caller's buffer, of which the machine keeps a count only, so a token allocates nothing.
struct ModelCallMachine {
    /// What the driver does next.
    enum Action: Equatable {
        case none
        /// Cancel the transfer that runs, if any, and send the request to this choice.
        case send(ModelChoice)
        /// Cancel the transfer that runs.
        case cancelTransfer
        /// The answer is complete: the transfer has a moment to end the response, so that its connection can be used again.
        case letTransferEnd
        /// Read what follows as an answer of this choice.
        case readAnswer(ModelChoice)
        /// Call `failed` with what the dialect of this choice makes of an error response.
        case classifyError(TransferHead, body: [UInt8], of: ModelChoice)
        /// Let the reader finish, as when the transfer has ended.
        case finishAnswer
        /// The attempt failed: deliver, because the receiver decides whether another provider may still answer; then call `failed`.
        case fail(AttemptFailure)
    }

    /// What is delivered to the receiver beside text.
    struct Fields: Equatable {
        var unusedCalls: [UnusedCall]?
        var acceptedBy: ModelName?
        var usage: TokenUsage?
        var reasoningBytes: Int?
        var isSilent = false
        var end: ModelEnd?
    }

    private struct ErrorResponse: Equatable {
        var head: TransferHead
        var body: [UInt8] = []
    }

    /// How much of an error response's body is read, in bytes.
    static let longestErrorBody = 8 << 10

    // What each token uses stands together, because it is not in the processor's cache when the token comes.
    /// Counts attempts and their ends: a report with another number is of a transfer that was given up.
    private(set) var attempt = 0
    /// Bytes of the text read last, from its start, that were not delivered yet.
    private(set) var pendingText = 0
    /// What to deliver beside text; nil with most tokens. Written through `fields`.
    private var pendingFields: Fields?
    private var failover: FailoverMachine
    /// Bytes of the text of the request that is out.
    private var sentBytes = 0
    private var sentReasoningBytes = 0
    /// The request that has left last, as it is reported when its answer is not used; nil when none has left or it was reported.
    private var request: UnusedCall?
    private var hasUnusedCalls = false
    /// Whether this call has sent a request to another choice before the one that is due.
    private(set) var isFailover = false
    /// The response of the attempt, when it is an error.
    private var errorResponse: ErrorResponse?
    private var choice = 0
    /// In the order in which they are tried.
    let choices: [ModelChoice]

    /// - Parameter choices: in the order in which they are tried; at least one.
    init(choices: [ModelChoice], limits: CallLimits, start: MonotonicInstant) {
        self.choices = choices
        failover = FailoverMachine(providers: choices.map(\.name.provider), limits: limits, start: start)
    }

    /// The choice that is called, or was called last.
    var current: ModelChoice { choices[choice] }

    @inline(__always) var isEnded: Bool { failover.isEnded }
    /// Whether the attempt has brought text.
    @inline(__always) var hasText: Bool { failover.hasText }
    /// Whether text was released, so that no other provider is called.
    var hasReleased: Bool { failover.hasReleased }
    /// When to call `timePassed`; nil: never.
    @inline(__always) var deadline: MonotonicInstant? { failover.deadline }
    /// Whether a request is out that has brought no text.
    var isWaitingForText: Bool { failover.isWaitingForText }
    /// The request that is out, or was last; nil when there was none, or it was reported as unused.
    var openRequest: UnusedCall? {
        request.map {
            UnusedCall(
                name: $0.name, isAccepted: $0.isAccepted, usage: $0.usage, textBytes: sentBytes, reasoningBytes: sentReasoningBytes)
        }
    }
    /// The end of the attempt that the last action has ended; nil when no attempt has ended.
    var attemptEnd: ModelEnd? { pendingFields?.end ?? failover.lastFault.map(ModelEnd.failed) }
    /// Whether there is anything to deliver.
    @inline(__always) var hasDelivery: Bool { pendingText > 0 || pendingFields != nil }

    /// What to deliver with the first `pendingText` bytes of the text; both are pending no longer.
    mutating func takeDelivery() -> (text: Int, fields: Fields?) {
        defer {
            pendingText = 0
            pendingFields = nil
        }
        return (pendingText, pendingFields)
    }
}

// MARK: - Events

extension ModelCallMachine {
    /// - Parameter start: when the limits over all attempts begin; nil: now.
    mutating func begin(at now: MonotonicInstant, since start: MonotonicInstant? = nil) -> Action {
        action(failover.begin(at: now, since: start))
    }

    /// The request of the last `send` has left.
    mutating func requestLeft() { request = UnusedCall(name: current.name, isAccepted: false) }

    mutating func cancelled() -> Action { action(failover.cancelled()) }

    /// The response begins.
    mutating func received(_ head: TransferHead, at now: MonotonicInstant) -> Action {
        guard head.status == 200 else {
            errorResponse = ErrorResponse(head: head)
            return action(failover.refused(at: now))
        }
        guard failover.accepted() else { return .none }
        noteAcceptance()
        return .readAnswer(current)
    }

    private mutating func noteAcceptance() {
        fields.acceptedBy = current.name
        request?.isAccepted = true
        // Removes the usage that an earlier provider has reported.
        if hasUnusedCalls { fields.usage = TokenUsage() }
    }

    /// Whether the provider has neither sent nor counted anything.
    private var hasNothing: Bool {
        let counted = (request?.usage.totalInput ?? 0) + (request?.usage.totalOutput ?? 0)
        return sentBytes == 0 && sentReasoningBytes == 0 && counted == 0
    }

    /// An error in place of the answer is a refusal, which costs nothing, like a response with another status than 200.
    private mutating func withdrawAcceptance() {
        request?.isAccepted = false
        noteUnusedCall()
    }

    /// A part of an error response's body.
    mutating func receivedErrorBody(_ bytes: UnsafeRawBufferPointer) -> Action {
        guard var response = errorResponse else { return .none }
        errorResponse = nil
        response.body.append(contentsOf: bytes.prefix(Self.longestErrorBody - response.body.count))
        errorResponse = response
        return response.body.count == Self.longestErrorBody ? classifyErrorResponse() : .none
    }

    /// A part of the answer, as the reader gives it. Text beyond the answer's bound is not delivered.
    mutating func received(_ update: inout ParsedUpdate, at now: MonotonicInstant) -> Action {
        var isTooLong = false
        let count = update.text.count
        if count > 0 {
            sentBytes += count
            switch failover.receivedText(count, at: now) {
            case .all: pendingText = count
            case .atMost(let bound):
                isTooLong = true
                pendingText = update.text.prefixOfWholeCharacters(bound).count
            case .nothing: break
            }
        }
        if let usage = update.usage {
            request?.usage = usage
            fields.usage = usage
        }
        if update.reasoningBytes > 0 {
            sentReasoningBytes += update.reasoningBytes
            failover.receivedReasoning(at: now)
            fields.reasoningBytes = sentReasoningBytes
        }
        if update.hasFinishReason { failover.receivedFinishReason(at: now, withText: count > 0) }
        if isTooLong { return action(failover.reachedBound()) }
        switch update.verdict {
        case nil: return .none
        case .ended(let end):
            if let failure = failover.failure(of: end) { return .fail(failure) }
            return action(failover.finished(end))
        case .broken(let kind, let detail, let about):
            if kind == .errorFrame, hasNothing { withdrawAcceptance() }
            let fault = ModelFault(kind: kind, detail: "\(current.name.provider): \(detail)")
            return .fail(AttemptFailure(fault, about: about, hasText: hasText))
        }
    }

    /// The transfer ended before it brought an answer.
    mutating func transferEnded(_ end: TransferEnd) -> Action {
        if errorResponse != nil { return classifyErrorResponse() }
        switch end {
        case .failed(let failure): return .fail(AttemptFailure(failure, at: current.name.provider))
        case .cancelled: return .fail(AttemptFailure(fault: ModelFault(kind: .cut, detail: "shut down")))
        // Not reached: a transfer that is complete had a head.
        case .complete: return .fail(AttemptFailure(fault: ModelFault(kind: .cut, detail: "no response")))
        }
    }

    mutating func failed(_ failure: AttemptFailure, at now: MonotonicInstant) -> Action {
        if failure.isBilled, !isEnded { noteAcceptance() }
        return action(failover.failed(failure, at: now))
    }

    /// Takes what the receiver has returned. Returns whether it has changed, and with it the deadline.
    mutating func released(_ release: ReleaseState) -> Bool { failover.released(release) }

    /// Time has passed. Changes nothing before the deadline.
    /// - Returns: also the failure to note in the provider's health, when it is late with its first text. The end of a pause is no failure.
    mutating func timePassed(at now: MonotonicInstant) -> (action: Action, late: AttemptFailure?) {
        let wasWaiting = failover.isWaitingForText
        let next = failover.timePassed(at: now)
        let isLate = wasWaiting && ![.none, .classifyErrorResponse, .releaseHeld, .finishAnswer].contains(next)
        let fault = ModelFault(kind: .noFirstToken, detail: "\(current.name.provider): no text in time")
        return (action(next), isLate ? AttemptFailure(fault: fault, blamesProvider: true) : nil)
    }
}

// MARK: - Steps

extension ModelCallMachine {
    private var fields: Fields {
        get { pendingFields ?? Fields() }
        set { pendingFields = newValue }
    }

    private mutating func action(_ decision: FailoverMachine.Action) -> Action {
        switch decision {
        case .none: return .none
        case .attempt(let index):
            endAttempt()
            noteUnusedCall()
            isFailover = hasUnusedCalls && index != choice
            choice = index
            return .send(choices[index])
        case .pause:
            endAttempt()
            return .cancelTransfer
        case .classifyErrorResponse: return classifyErrorResponse()
        case .releaseHeld:
            fields.isSilent = true
            return .none
        case .finishAnswer: return .finishAnswer
        case .end(let end):
            endAttempt()
            if hasUnusedCalls, request?.isAccepted == false { noteUnusedCall() }
            fields.end = end
            return end.isFault ? .cancelTransfer : .letTransferEnd
        }
    }

    private mutating func endAttempt() {
        attempt += 1
        errorResponse = nil
    }

    private mutating func noteUnusedCall() {
        guard let call = openRequest else { return }
        // An acceptance that was not delivered yet is this call's. Delivered beside it, it would count the request twice.
        pendingFields?.acceptedBy = nil
        fields.unusedCalls = (fields.unusedCalls ?? []) + [call]
        (request, sentBytes, sentReasoningBytes, hasUnusedCalls) = (nil, 0, 0, true)
    }

    /// Returns the choices after the current one, and calls none of them from now on.
    mutating func giveUpUntried() -> [ModelChoice] {
        failover.limit(to: choice + 1)
        return Array(choices[(choice + 1)...])
    }

    private func classifyErrorResponse() -> Action {
        guard let errorResponse else { return .none }
        return .classifyError(errorResponse.head, body: errorResponse.body, of: current)
    }
}
