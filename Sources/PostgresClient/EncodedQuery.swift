/// A query as the arrays that libpq takes. Made on the caller's thread, to take that work off the reactor's.
struct EncodedQuery: Sendable {
    /// The protocol counts parameters in 16 bits.
    private static let mostParameters = 65_535

    let key: StatementCache.Key
    /// All values, one after another, each with a zero byte at its end, because libpq takes C strings.
    private let storage: [UInt8]
    /// Where each value begins in `storage`; nil is NULL.
    private let offsets: [Int?]
    private let lengths: [Int32]
    private let formats: [Int32]

    /// - Throws: `PostgresError` of kind `protocolViolation` when a text has U+0000, which PostgreSQL cannot hold and libpq would cut off,
    ///   or there are too many parameters.
    init(_ query: Query) throws {
        let sql = query.sql
        guard query.parameters.count <= Self.mostParameters, !sql.utf8.contains(0) else {
            throw PostgresError(.protocolViolation, "too many parameters, or U+0000 in the statement")
        }
        key = StatementCache.Key(sql: sql, parameterTypes: query.parameters.map(\.typeID))
        var storage: [UInt8] = []
        var offsets: [Int?] = []
        var lengths: [Int32] = []
        for (index, parameter) in query.parameters.enumerated() {
            let start = storage.count
            switch parameter {
            case .null:
                break
            case .text(let text):
                storage.append(contentsOf: text.utf8)
                guard !storage[start...].contains(0) else {
                    throw PostgresError(.protocolViolation, "parameter \(index + 1) contains U+0000")
                }
            case .binary(let bytes, _):
                storage.append(contentsOf: bytes)
            }
            guard let length = Int32(exactly: storage.count - start) else {
                throw PostgresError(.protocolViolation, "parameter \(index + 1) is too large")
            }
            offsets.append(parameter == .null ? nil : start)
            lengths.append(length)
            storage.append(0)
        }
        self.storage = storage
        self.offsets = offsets
        self.lengths = lengths
        formats = query.parameters.map { if case .binary = $0 { 1 } else { 0 } }
    }

    var parameterCount: Int32 { Int32(offsets.count) }

    /// Calls `body` with values, lengths and formats as C arrays, valid during the call.
    func withParameters<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        // SAFETY: every offset is inside `storage`, where a zero byte follows each value; the arrays outlive the call.
        storage.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
            return values.withUnsafeBufferPointer { values in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(values.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
