import CoachCore
import TokenRelay

/// One model call: performs what a `ModelCallMachine` decides, with a transfer, a reader and a timer, and delivers updates. After `init` it
/// belongs to the transfers' thread.
final class ModelCall {
    /// How long a response may take to end after the answer's end mark. Then its connection can be used again.
    private static let lingering = Duration.seconds(1)

    // What each token uses stands together, because it is not in the processor's cache when the token comes.
    private var machine: ModelCallMachine
    /// Set while an answer is read.
    private var reader: (any AnswerReader)?
    private var receive: LanguageModel.Receiver?
    /// Used from `begin` on, because `init` runs on the caller's thread.
    private lazy var health = router.health
    private let router: ModelRouter

    /// The prompt in each form that the route needs; empty after the first released text: no other provider is called after that.
    private var prompts: [PromptForm: EncodedPrompt]
    /// The request that is out.
    private var transfer: Transfer?
    private var askedAt = MonotonicInstant.now
    /// The key of the request that was sent last.
    private var key: String?
    private var timer: (handle: TransferTimer, at: MonotonicInstant)?
    private let beforeRequest: LanguageModel.BeforeRequest?
    /// Whether the next request waits for `beforeRequest`.
    private var recordsNextRequest = false
    private var traces: CallTraces

    /// Encodes the prompt on the caller's thread.
    init(
        prompt: Prompt, router: ModelRouter, beforeRequest: LanguageModel.BeforeRequest?, receive: @escaping LanguageModel.Receiver
    ) {
        self.beforeRequest = beforeRequest
        prompts = router.encode(prompt)
        traces = CallTraces(prompt.tracing)
        self.router = router
        self.receive = receive
        machine = ModelCallMachine(choices: router.route.choices, limits: router.limits, start: .now)
    }

    /// - Parameters:
    ///   - choices: in the order in which they are tried; nil: the route's. Never empty.
    ///   - start: when the time limits over all attempts begin; nil: now.
    ///   - isSecond: another call for the same prompt runs already.
    func begin(trying choices: [ModelChoice]? = nil, since start: MonotonicInstant? = nil, isSecond: Bool = false) {
        let now = MonotonicInstant.now
        recordsNextRequest = isSecond
        traces.isHedge = isSecond
        machine = ModelCallMachine(choices: choices ?? router.order(at: now), limits: router.limits, start: now)
        health.began()
        perform(machine.begin(at: now, since: start))
        deliver()
    }

    func cancel() {
        perform(machine.cancelled())
        deliver()
    }

    /// Cancels the call because another one was faster. The time since its request counts as a latency of the model.
    func giveUpAsSlower() {
        if machine.isWaitingForText, openRequest != nil { health.note(askedAt.duration(to: .now), of: current.name) }
        cancel()
    }

    /// The choice that is called, or was called last.
    var current: ModelChoice { machine.current }

    /// Returns the choices that this call has not tried, and tries none of them from now on.
    func giveUpUntried() -> [ModelChoice] { machine.giveUpUntried() }

    /// The request that is out, or was last; nil when there was none, or it was reported as unused.
    var openRequest: UnusedCall? { machine.openRequest }
}

// MARK: - Actions

extension ModelCall {
    private func perform(_ action: ModelCallMachine.Action) {
        switch action {
        case .none: return
        case .send(let choice):
            endTrace()
            sendWhenRecorded(to: choice)
        case .cancelTransfer:
            endTrace()
            cancelTransfer()
        case .letTransferEnd:
            endTrace()
            letTransferEnd()
        case .readAnswer(let choice):
            reader = router.provider(of: choice)?.dialect.makeReader(for: choice.name.model, options: choice.options)
        case .classifyError(let head, let body, let choice):
            let error = router.provider(of: choice)?.dialect.error(head, body: body) ?? ProviderError()
            fail(AttemptFailure(head, error, at: choice.name.provider))
        case .finishAnswer: finishAnswer()
        case .fail(let failure): fail(failure)
        }
        setTimer()
    }

    /// Sends the request. One that is not the first waits for `beforeRequest`, within the attempt's time.
    private func sendWhenRecorded(to choice: ModelChoice) {
        cancelTransfer()
        guard !passesOver(choice) else { return }
        // Only a request after that of another choice needs the budget, so no call ends without a request because of it.
        if machine.isFailover, health.isOpen(choice.name), !health.mayRetry() {
            return skip(choice, "its circuit is open, and the retry budget is used up")
        }
        askedAt = .now
        guard recordsNextRequest, let beforeRequest else {
            recordsNextRequest = true
            return send(to: choice)
        }
        let (attempt, call) = (machine.attempt, router.transfers.bind(self))
        beforeRequest { mayLeave in
            call.submit { call in
                guard call.machine.attempt == attempt else { return }
                if mayLeave { call.send(to: choice) } else { call.endUnrecorded(choice) }
                call.deliver()
            }
        }
    }

    /// Goes on without a request when every key of the provider was refused lately, or the provider has asked for a pause that is not over.
    private func passesOver(_ choice: ModelChoice) -> Bool {
        let now = MonotonicInstant.now
        let areRefused = router.keys.areRefused(of: choice.name.provider, at: now)
        let cooldown = health.remainingCooldown(of: choice.name, at: now)
        guard areRefused || cooldown != nil else { return false }
        if areRefused { skip(choice, "its keys were refused") } else { skip(choice, "it has asked for a pause", retryAfter: cooldown) }
        return true
    }

    /// Goes on without the request that is due.
    private func skip(_ choice: ModelChoice, _ reason: String, retryAfter: Duration? = nil) {
        let fault = ModelFault(kind: .refused, detail: "\(choice.name.provider): \(reason)", retryAfter: retryAfter?.secondsRoundedUp)
        perform(machine.failed(AttemptFailure(fault: fault), at: .now))
    }

    /// Ends the call without the request that is due. A request to another choice would wait just as long for its record.
    private func endUnrecorded(_ choice: ModelChoice) {
        let fault = ModelFault(kind: .refused, detail: "\(choice.name.provider): the call could not be recorded")
        perform(machine.failed(AttemptFailure(fault: fault, endsCall: true), at: .now))
    }

    private func send(to choice: ModelChoice) {
        // Another call may have got a refusal while this one waited.
        guard !passesOver(choice) else { return }
        machine.requestLeft()
        guard let provider = router.provider(of: choice), let prompt = prompts[provider.dialect.promptForm(for: choice)] else {
            return perform(machine.failed(AttemptFailure(fault: ModelFault(kind: .refused, detail: "unknown provider")), at: .now))
        }
        key = router.keys.key(of: provider.name, at: .now)
        var request = provider.dialect.request(
            prompt, to: choice, at: provider, key: key, keys: router.keys, connectTimeout: router.limits.connect)
        request.trace(traces.begin(choice.name))
        askedAt = .now
        transfer = router.transfers.start(request, handlers(machine.attempt))
    }

    /// The request is not used any more, or its answer is complete.
    private func endTrace() {
        guard let end = machine.attemptEnd else { return }
        traces.end(end, usage: machine.openRequest?.usage ?? TokenUsage())
    }

    private func handlers(_ attempt: Int) -> TransferHandlers {
        let call = router.transfers.bind(self)
        return TransferHandlers(
            head: { head in call.current.during(attempt) { $0.head(head) } },
            bytes: { bytes in call.current.during(attempt) { $0.bytes(bytes) } },
            end: { end in call.current.during(attempt) { $0.transferEnded(end) } })
    }

    private func cancelTransfer() {
        transfer?.cancel()
        transfer = nil
        reader = nil
    }

    private func letTransferEnd() {
        reader = nil
        guard let transfer else { return }
        self.transfer = nil
        _ = router.transfers.schedule(after: Self.lingering) { transfer.cancel() }
    }

    /// Takes in what all routes share before the machine decides: the provider's keys, its health, and the budget of retries.
    private func fail(_ failure: AttemptFailure) {
        deliver()
        let now = MonotonicInstant.now
        let model = machine.current.name
        var failure = failure
        if let key, let cooldown = failure.keyCooldown {
            failure.hasAnotherKey = router.keys.coolDown(
                key, of: model.provider, for: cooldown, isRefused: failure.refusesKey, at: now)
            // Another key may be ready before this one.
            if let modelCooldown = failure.cooldown, let wait = router.keys.wait(of: model.provider, at: now) {
                failure.cooldown = min(modelCooldown, wait)
            }
        }
        if failure.mayRetry, machine.choices.count == 1 { failure.mayRetry = health.mayRetry() }
        health.noteFailure(of: model, failure, at: now)
        perform(machine.failed(failure, at: now))
    }

    private func deliver() {
        guard machine.hasDelivery else { return }
        let (count, fields) = machine.takeDelivery()
        let release = health.update.text.withUnsafeBufferPointer { text in
            let text = UnsafeBufferPointer(rebasing: text[..<count])
            let update = ModelUpdate(
                unusedCalls: fields?.unusedCalls, acceptedBy: fields?.acceptedBy, text: text, isSilent: fields?.isSilent ?? false,
                usage: fields?.usage, reasoningBytes: fields?.reasoningBytes, end: fields?.end)
            return receive?(update)
        }
        // Nearly every token returns the same state, and changes nothing here.
        if let release, machine.released(release) {
            if machine.hasReleased { prompts = [:] }
            setTimer()
        }
        if machine.isEnded { receive = nil }
    }

    /// Each text moves the deadline away, and the timer stays as it is: when it fires too early, it is set again.
    private func setTimer() {
        guard let deadline = machine.deadline else {
            timer?.handle.cancel()
            timer = nil
            return
        }
        if let at = timer?.at, at <= deadline { return }
        timer?.handle.cancel()
        let handle = router.transfers.schedule(after: MonotonicInstant.now.duration(to: deadline)) { [self] in
            timer = nil
            timerFired()
        }
        timer = (handle, deadline)
    }

    private func timerFired() {
        let model = machine.current.name
        let now = MonotonicInstant.now
        let (action, late) = machine.timePassed(at: now)
        if let late { health.noteFailure(of: model, late, at: now) }
        perform(action)
        setTimer()
        deliver()
    }
}

// MARK: - Events of the transfer

extension ModelCall {
    /// Takes what a transfer reports, unless it was given up.
    private func during(_ attempt: Int, _ body: (ModelCall) -> Void) {
        guard attempt == machine.attempt else { return }
        body(self)
        deliver()
    }

    private func head(_ head: TransferHead) {
        traces.received(status: head.status)
        perform(machine.received(head, at: .now))
        setTimer()
    }

    private func bytes(_ bytes: UnsafeRawBufferPointer) {
        guard reader != nil else { return perform(machine.receivedErrorBody(bytes)) }
        health.update.clear()
        reader?.read(bytes, into: &health.update)
        take()
    }

    private func transferEnded(_ end: TransferEnd) {
        transfer = nil
        guard reader != nil else { return perform(machine.transferEnded(end)) }
        finishAnswer()
    }

    private func finishAnswer() {
        health.update.clear()
        reader?.finish(into: &health.update)
        take()
    }

    /// Hands what the reader made to the machine.
    private func take() {
        let hadText = machine.hasText
        if !hadText, !health.update.text.isEmpty { health.noteSuccess(of: current.name, after: askedAt.duration(to: .now)) }
        perform(machine.received(&health.update, at: .now))
        // Further texts only move the deadline away, and reading it copies the machine.
        if !hadText || health.update.hasFinishReason { setTimer() }
    }
}
