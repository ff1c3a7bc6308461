import CoachCore
import PostgresClient

extension UserID {
    /// The affinity of the user's batches, which all use one shared connection. FNV-1a over all bytes of the id, because ids may begin with
    /// a time or end with a counter.
    var affinity: UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a, 64 bits
        withUnsafeBytes(of: uuid.uuid) { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return hash
    }
}

extension PostgresClient {
    /// Runs a statement for one user, with the user's affinity, and returns its only value. Throws `PostgresError`.
    func value<Value: ColumnValue & Sendable>(of query: Query, for userID: UserID, as type: Value.Type = Value.self) async throws -> Value {
        try await self.query(query, affinity: userID.affinity) { rows in try rows.only { row in try row.value(0) } }
    }

    /// Calls a function of schema `gateway` for the caller, and retries it on contention with other transactions. Throws `StoreFault`, and
    /// `PostgresError` for the given SQLSTATEs.
    func call<Value: ColumnValue & Sendable>(
        _ function: Query, for caller: Caller, except sqlStates: Set<String> = [], as type: Value.Type = Value.self
    ) async throws -> Value {
        let query = Claims.gateway(for: caller, calling: function)
        return try await StoreFault.translating(except: sqlStates) {
            try await repeatingContended { try await value(of: query, for: caller.userID, as: type) }
        }
    }

    /// Runs a statement that is not for a particular user and returns its only value. Throws `PostgresError`.
    func value<Value: ColumnValue & Sendable>(of query: Query, as type: Value.Type = Value.self) async throws -> Value {
        try await self.query(query) { rows in try rows.only { row in try row.value(0) } }
    }
}
