import CLibPQ

/// Sending: writes batches to libpq, as prepared or unnamed statements in pipeline mode, or as a script outside it.
extension Connection {
    /// Sends a batch after the outstanding ones. `Events.answered` follows, or the end of the connection, which fails the batch.
    func send(_ batch: Batch) {
        guard machine.state == .open, script == nil else {
            return events.answered(batch, PostgresError(.unavailable, "the connection is closed or busy with a script"))
        }
        if queue.isEmpty { lastReceived = .now }
        batch.wasSent = true
        let isSent =
            switch batch.work {
            case .queries(let queries): send(queries, of: batch)
            case .script(let text): send(script: text, of: batch)
            }
        // libpq fails only when it has no memory or no connection. How much of the batch it sent is then unknown.
        guard isSent else {
            queue.sent(.batch(batch), statements: 0)
            return perform(machine.end(.lost))
        }
        expectAnswer()
        flush()
    }

    private func send(_ queries: [EncodedQuery], of batch: Batch) -> Bool {
        // In a batch that needs more than half of the cache, statements could evict each other.
        guard configuration.statements == .prepared, queries.count <= cache.capacity / 2 else {
            return queries.allSatisfy(sendUnnamed) && sync(.batch(batch), statements: queries.count)
        }
        batch.statements = []
        for query in queries {
            guard let name = prepare(query) else { return false }
            batch.statements.append(name)
        }
        return zip(queries, batch.statements).allSatisfy(sendPrepared) && sync(.batch(batch), statements: queries.count)
    }

    /// Returns the name of the prepared statement; sends its preparation first when it is not in the cache. Nil when libpq refused.
    private func prepare(_ query: EncodedQuery) -> String? {
        switch cache.use(query.key) {
        case .execute(let name):
            return name
        case .prepare(let name, let evicted):
            if let evicted, !deallocate(evicted) { return nil }
            let types = query.key.parameterTypes
            guard PQsendPrepare(handle, name, query.key.sql, Int32(types.count), types) == 1,
                sync(.preparation(name: name), statements: 1)
            else { return nil }
            return name
        }
    }

    /// Deallocates a prepared statement. By SQL, because libpq 15 has no function for it.
    func deallocate(_ name: String) -> Bool {
        PQsendQueryParams(handle, "deallocate \(name)", 0, nil, nil, nil, nil, 0) == 1 && sync(.deallocation, statements: 1)
    }

    private func sendPrepared(_ query: EncodedQuery, name: String) -> Bool {
        query.withParameters { values, lengths, formats in
            PQsendQueryPrepared(handle, name, query.parameterCount, values, lengths, formats, 0) == 1
        }
    }

    private func sendUnnamed(_ query: EncodedQuery) -> Bool {
        query.withParameters { values, lengths, formats in
            PQsendQueryParams(handle, query.key.sql, query.parameterCount, query.key.parameterTypes, values, lengths, formats, 0) == 1
        }
    }

    private func sync(_ owner: Owner, statements: Int) -> Bool {
        guard PQpipelineSync(handle) == 1 else { return false }
        queue.sent(owner, statements: statements)
        return true
    }

    /// Leaves pipeline mode, in which libpq has no simple protocol, and sends the script. Pipeline mode is entered again after its result.
    private func send(script text: String, of batch: Batch) -> Bool {
        guard queue.isEmpty, PQexitPipelineMode(handle) == 1, PQsendQuery(handle, text) == 1 else { return false }
        script = batch
        scriptFailure = nil
        return true
    }
}
