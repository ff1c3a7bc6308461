import CLibPQ
import Reactor

/// Receiving: takes results and notifications from libpq and passes them to batches and events.
extension Connection: DeferredWork {
    /// How many results or notifications are taken before the reactor's other work runs. A batch has three or more results, and decoding a
    /// long history takes about 0.1 ms.
    private static let takenAtOnce = 32

    func consumeInput() {
        let succeeded = PQconsumeInput(handle) == 1 && PQstatus(handle) == CONNECTION_OK
        lastReceived = .now
        // Results that arrived before the connection was lost are delivered before its end is reported.
        if !succeeded { drain() } else if !drainsLater { continueWork() }
        guard machine.state == .open else { return }
        perform(machine.consumed(succeeded))
    }

    func continueWork() {
        drainsLater = !drain(atMost: Self.takenAtOnce)
        if drainsLater { reactor.continueLater(self) }
    }

    /// Takes complete results and notifications, at most `most` of each. False when some may be left. The callers' handlers run inside:
    /// they may send more batches or close the connection.
    @discardableResult
    func drain(atMost most: Int = .max) -> Bool {
        drainResults(atMost: most) && drainNotifications(atMost: most)
    }

    private func drainResults(atMost most: Int) -> Bool {
        var left = most
        while machine.state == .open, script != nil || !queue.isEmpty, PQisBusy(handle) == 0 {
            // Stops only between groups: a batch that is sent after an error result makes libpq 15 skip the NULL that follows that result
            // (fe-exec.c, pqAppendCmdQueueEntry).
            guard left > 0 || !queue.isBetweenGroups else { return false }
            left -= 1
            let result = PQgetResult(handle)
            // When the connection is lost libpq makes an error result of its own. It is dropped; the end of the connection answers the
            // batch.
            if PQstatus(handle) == CONNECTION_BAD, PQresultStatus(result) == PGRES_FATAL_ERROR {
                PQclear(result)
                return true
            }
            if let script { take(result, of: script) } else { take(result) }
        }
        return true
    }

    private func drainNotifications(atMost most: Int) -> Bool {
        var left = most
        while machine.state == .open, let notification = PQnotifies(handle) {
            left -= 1
            let (channel, payload) = (String(cString: notification.pointee.relname), String(cString: notification.pointee.extra))
            let processID = notification.pointee.be_pid
            PQfreemem(notification)
            events.notified(channel, payload, processID)
            guard left > 0 else { return false }
        }
        return true
    }

    // MARK: Pipeline

    private func take(_ result: OpaquePointer?) {
        guard let result else { return handle(queue.received(.separator), nil) }
        let status = PQresultStatus(result)
        let error = status == PGRES_FATAL_ERROR ? PostgresError(report: result) : nil
        let rows = Rows(owning: result)
        switch status {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            if case .deliver(let owner, let isLast) = queue.received(.result) {
                if isLast, case .batch(let batch) = owner { batch.receive(rows) }
            } else {
                perform(machine.end(.violation))
            }
        case PGRES_FATAL_ERROR:
            handle(queue.received(.error), error)
        case PGRES_PIPELINE_ABORTED:
            handle(queue.received(.aborted), nil)
        case PGRES_PIPELINE_SYNC:
            handle(queue.received(.sync), nil)
        default:
            // COPY is not possible in a pipeline.
            perform(machine.end(.violation))
        }
    }

    private func handle(_ action: PipelineQueue<Owner>.Action, _ error: PostgresError?) {
        switch action {
        case .none, .deliver: break
        case .fail: headFailure = error
        case .violation: perform(machine.end(.violation))
        case .finished(let owner):
            let failure = headFailure
            headFailure = nil
            finished(owner, failure)
            if queue.isEmpty { preparationFailures = [:] }
        }
    }

    private func finished(_ owner: Owner, _ failure: PostgresError?) {
        switch owner {
        case .deallocation:
            break
        case .preparation(let name):
            guard let failure else { return }
            cache.forget(name: name)
            // Bounds the memory. A batch whose cause is lost by this fails with "unknown statement" and is sent again.
            if preparationFailures.count >= PostgresConfiguration.preparedStatements { preparationFailures = [:] }
            preparationFailures[name] = failure
        case .batch(let batch):
            guard let failure, failure.isOutdatedStatement else { return events.answered(batch, failure) }
            answerOutdated(batch, failure)
        }
    }

    /// Answers a batch that failed because a prepared statement is unknown or outdated. If the preparation failed, the caller gets the
    /// cause of that. Otherwise the batch's statements are deallocated, so that they are prepared again.
    private func answerOutdated(_ batch: Batch, _ failure: PostgresError) {
        if let cause = batch.statements.lazy.compactMap({ self.preparationFailures[$0] }).first { return events.answered(batch, cause) }
        let outdated = batch.statements.filter { cache.forget(name: $0) }
        // The owner may send the batch again at once: it will be prepared under another name.
        events.answered(batch, failure)
        guard failure.sqlState != "26000", machine.state == .open else { return }
        if !outdated.allSatisfy(deallocate) { perform(machine.end(.lost)) }
    }

    // MARK: Script

    private func take(_ result: OpaquePointer?, of batch: Batch) {
        guard let result else {
            script = nil
            guard PQenterPipelineMode(handle) == 1 else { return perform(machine.end(.violation)) }
            return events.answered(batch, scriptFailure)
        }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_FATAL_ERROR: scriptFailure = scriptFailure ?? PostgresError(report: result)
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: perform(machine.end(.violation))
        default: break
        }
    }
}
