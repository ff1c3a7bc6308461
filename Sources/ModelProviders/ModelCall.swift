import CoachCore
import TokenRelay

/// One model call: connects the failover machine with a transfer, a reader and a timer, and delivers updates. After `init` it belongs to the
/// transfers' thread.
final class ModelCall {
    /// What is received at present.
    private enum Reading {
        case nothing
        /// `reader` reads it.
        case answer
        case refusal(TransferHead, body: [UInt8])
    }

    /// What was received beside text, and not delivered yet.
    private final class PendingFields {
        var acceptedBy: ModelName?
        var usage: TokenUsage?
        var isSilent = false
        var end: ModelEnd?
    }

    /// An error response is read so far.
    private static let longestRefusal = 8 << 10
    /// After the end mark the connection is given so long to end the response, so that it can be used again.
    private static let lingering = Duration.seconds(1)

    // What a token touches stands together: it is cold when the token comes.
    /// Counts attempts, so that a transfer that was given up is not listened to.
    private var attempt = 0
    private let router: ModelRouter
    /// Not before `begin`, as `init` runs on the caller's thread.
    private lazy var shared = router.health
    /// Stands beside `reading`, and is used where it stands: a token does not move it.
    private var reader: (any AnswerReader)?
    private var receive: LanguageModel.Receiver?
    /// As the receiver last returned it.
    private var release = ReleaseState(isReleased: false)
    /// Bytes of the text in the router's `update`, from its start, that were not delivered yet.
    private var pendingText = 0
    /// nil mostly.
    private var pendingFields: PendingFields?
    private var reading = Reading.nothing
    private var machine: FailoverMachine

    /// The prompt in each dialect of the route; empty after the first released text: no other provider is called after that.
    private var prompts: [Dialect: EncodedPrompt]
    private let trace: TraceHeaders?
    private var order: [ModelChoice]
    private var current: ModelChoice
    private var transfer: Transfer?
    /// The key of the request that is out.
    private var key: String?
    private var hasReportedUsage = false
    private var alarm: (handle: TransferAlarm, at: Moment)?

    /// Encodes the prompt on the caller's thread.
    init(prompt: Prompt, router: ModelRouter, receive: @escaping LanguageModel.Receiver) {
        prompts = router.encode(prompt)
        trace = prompt.trace
        self.router = router
        self.receive = receive
        current = router.route.first
        order = router.route.choices
        machine = FailoverMachine(providers: order.map(\.name.provider), limits: router.limits, start: .now)
    }

    func begin() {
        let now = Moment.now
        order = router.order(at: now)
        router.health.began()
        machine = FailoverMachine(providers: order.map(\.name.provider), limits: router.limits, start: now)
        perform(machine.begin(at: now))
        deliver()
    }

    func cancel() {
        perform(machine.cancelled())
        deliver()
    }
}

// MARK: - What the machine wants

extension ModelCall {
    private func perform(_ action: FailoverMachine.Action) {
        switch action {
        case .none: break
        case .attempt(let index): ask(order[index])
        case .pause: giveUpTransfer()
        case .judgeErrorResponse: judgeErrorResponse()
        case .releaseHeld: gatheredFields.isSilent = true
        case .end(let end):
            switch end {
            case .stop, .length, .filtered: letTransferFinish()
            case .cancelled, .failed: giveUpTransfer()
            }
            gatheredFields.end = end
        }
        setAlarm()
    }

    private func ask(_ choice: ModelChoice) {
        giveUpTransfer()
        release.isHeld = false
        current = choice
        guard let provider = router.provider(of: choice), let prompt = prompts[provider.dialect] else {
            return perform(machine.failed(AttemptFailure(fault: ModelFault(kind: .refused, detail: "unknown provider")), at: .now))
        }
        key = router.keys.key(of: provider.name, at: .now)
        var request = provider.dialect.request(
            prompt, to: choice, at: provider, key: key, keys: router.keys, connectTimeout: router.limits.connect)
        request.trace(trace)
        transfer = router.transfers.start(request, handlers(attempt, provider.dialect))
    }

    private func handlers(_ number: Int, _ dialect: Dialect) -> TransferHandlers {
        let call = router.transfers.bind(self)
        return TransferHandlers(
            head: { head in call.current.during(number) { $0.head(head, dialect) } },
            bytes: { bytes in call.current.during(number) { $0.bytes(bytes) } },
            end: { end in call.current.during(number) { $0.transferEnded(end) } })
    }

    private func giveUpTransfer() {
        transfer?.cancel()
        forgetTransfer()
    }

    private func letTransferFinish() {
        guard let transfer else { return }
        forgetTransfer()
        _ = router.transfers.schedule(after: Self.lingering) { transfer.cancel() }
    }

    private func forgetTransfer() {
        attempt += 1
        transfer = nil
        reading = .nothing
        reader = nil
    }

    private var gatheredFields: PendingFields {
        if let pendingFields { return pendingFields }
        let fields = PendingFields()
        pendingFields = fields
        return fields
    }

    /// Hands over what was gathered.
    private func deliver() {
        guard pendingText > 0 || pendingFields != nil else { return }
        let (count, fields) = (pendingText, pendingFields)
        pendingText = 0
        pendingFields = nil
        let latest = shared.update.text.withUnsafeBufferPointer { text in
            let text = UnsafeBufferPointer(rebasing: text[..<count])
            let update = ModelUpdate(
                acceptedBy: fields?.acceptedBy, text: text, isSilent: fields?.isSilent ?? false, usage: fields?.usage, end: fields?.end)
            return receive?(update)
        }
        // The same at nearly every token.
        if let latest, latest != release { note(latest) }
        if machine.isEnded { receive = nil }
    }

    private func note(_ latest: ReleaseState) {
        release = latest
        machine.released(latest)
        if machine.hasReleased { prompts = [:] }
        setAlarm()
    }

    /// The timer is left alone while the deadline only moves away, as it does with every text; when it fires too early, it is set again.
    private func setAlarm() {
        guard let deadline = machine.deadline else {
            alarm?.handle.cancel()
            alarm = nil
            return
        }
        if let at = alarm?.at, at <= deadline { return }
        alarm?.handle.cancel()
        let handle = router.transfers.schedule(after: Moment.now.duration(to: deadline)) { [self] in
            alarm = nil
            clock()
        }
        alarm = (handle, deadline)
    }

    private func clock() {
        let model = current.name
        let now = Moment.now
        let wasWaiting = machine.isWaitingForText
        let action = machine.clock(at: now)
        if action == .releaseHeld { release.isHeld = false }
        // Silence before the first text is the provider's fault; a pause that is over is not.
        if wasWaiting, action != .none, action != .judgeErrorResponse, action != .releaseHeld {
            let fault = ModelFault(kind: .noFirstToken, detail: "\(model.provider): no text in time")
            router.health.noteFailure(of: model, AttemptFailure(fault: fault, blamesProvider: true), at: now)
        }
        perform(action)
        deliver()
    }
}

// MARK: - What the transfer reports

extension ModelCall {
    /// Takes what a transfer reports, unless it was given up.
    private func during(_ number: Int, _ body: (ModelCall) -> Void) {
        guard number == attempt else { return }
        body(self)
        deliver()
    }

    private func head(_ head: TransferHead, _ dialect: Dialect) {
        guard head.status == 200 else {
            reading = .refusal(head, body: [])
            return perform(machine.refused(at: .now))
        }
        guard machine.accepted() else { return }
        reading = .answer
        reader = dialect.makeReader(for: current.name.model)
        gatheredFields.acceptedBy = current.name
        // What the provider before reported was its own.
        if hasReportedUsage { gatheredFields.usage = TokenUsage() }
        hasReportedUsage = false
        setAlarm()
    }

    private func bytes(_ bytes: UnsafeRawBufferPointer) {
        switch reading {
        case .nothing: break
        case .refusal(let head, var body):
            reading = .nothing
            body.append(contentsOf: bytes.prefix(Self.longestRefusal - body.count))
            reading = .refusal(head, body: body)
            if body.count == Self.longestRefusal { judgeErrorResponse() }
        case .answer:
            shared.update.clear()
            reader?.read(bytes, into: &shared.update)
            take()
        }
    }

    private func transferEnded(_ end: TransferEnd) {
        // It is over already: nothing to cancel.
        transfer = nil
        switch reading {
        case .refusal: judgeErrorResponse()
        case .answer:
            shared.update.clear()
            reader?.finish(into: &shared.update)
            take()
        case .nothing:
            switch end {
            case .failed(let failure): fail(AttemptFailure(failure, at: current.name.provider))
            case .cancelled: fail(AttemptFailure(fault: ModelFault(kind: .cut, detail: "shut down")))
            // Not reached: a transfer that is complete had a head.
            case .complete: fail(AttemptFailure(fault: ModelFault(kind: .cut, detail: "no response")))
            }
        }
    }

    /// Judges what `update` say.
    private func take() {
        var isTooLong = false
        let count = shared.update.text.count
        let hadText = machine.hasText
        if count > 0 {
            if !hadText {
                router.health.noteSuccess(of: current.name)
            }
            switch machine.receivedText(count, at: .now) {
            case .all: pendingText = count
            case .atMost(let bound):
                isTooLong = true
                pendingText = shared.update.text.prefixOfWholeCharacters(bound).count
            case .nothing: break
            }
        }
        if let usage = shared.update.usage {
            hasReportedUsage = true
            gatheredFields.usage = usage
        }
        if isTooLong { return perform(machine.reachedBound()) }
        switch shared.update.verdict {
        case .ended(let end): perform(machine.finished(end, at: .now))
        case .broken(let kind, let detail):
            // The receiver decides whether another provider may still answer.
            if pendingText > 0, !machine.hasReleased { deliver() }
            let provider = current.name.provider
            fail(AttemptFailure(fault: ModelFault(kind: kind, detail: "\(provider): \(detail)"), blamesProvider: !machine.hasText))
        // Every further text only moves the deadline away; and to ask for it copies the machine.
        case nil: if !hadText { setAlarm() }
        }
    }

    private func judgeErrorResponse() {
        guard case .refusal(let head, let body) = reading else { return }
        let error = router.provider(of: current)?.dialect.error(head, body: body) ?? ProviderError()
        fail(AttemptFailure(head, error, at: current.name.provider))
    }

    private func fail(_ failure: AttemptFailure) {
        let now = Moment.now
        var failure = failure
        if let key, let rest = failure.keyRest {
            failure.hasAnotherKey = router.keys.reject(key, of: current.name.provider, for: rest, at: now)
        }
        if failure.mayRetry, order.count == 1 { failure.mayRetry = router.health.mayRetry() }
        router.health.noteFailure(of: current.name, failure, at: now)
        perform(machine.failed(failure, at: now))
    }
}
