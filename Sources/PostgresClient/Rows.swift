import CLibPQ

/// The result of a statement. It owns libpq's memory and is noncopyable; decode what you need before the closure returns.
public struct Rows: ~Copyable {
    let result: OpaquePointer

    /// Takes over a `PGresult`.
    init(owning result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    public var count: Int { Int(PQntuples(result)) }

    public var isEmpty: Bool { count == 0 }

    public var columnCount: Int { Int(PQnfields(result)) }

    /// The number of rows that an insert, update or delete changed, or a select returned; 0 for other statements.
    public var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// Whether the field is NULL. A field that does not exist is NULL.
    public func isNull(_ row: Int, _ column: Int) -> Bool {
        !(0..<count).contains(row) || !(0..<columnCount).contains(column) || PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// Calls `body` with the field's bytes in the server's text form, nil for NULL. They are valid during the call.
    public func withBytes<Result, Failure: Error>(
        _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard !isNull(row, column), let start = PQgetvalue(result, Int32(row), Int32(column)) else { return try body(nil) }
        return try body(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, Int32(row), Int32(column)))))
    }

    /// The field in the server's text form, nil for NULL.
    public func text(_ row: Int, _ column: Int) -> String? {
        withBytes(row, column) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Decodes each row with `body`, in order.
    public func map<Element>(_ body: (borrowing Row) throws -> Element) rethrows -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for index in 0..<count { elements.append(try body(Row(index: index, result: result))) }
        return elements
    }

    /// The first row, decoded; nil when there is none.
    public func first<Element>(_ body: (borrowing Row) throws -> Element) rethrows -> Element? {
        isEmpty ? nil : try body(Row(index: 0, result: result))
    }

    /// The only row, decoded.
    /// - Throws: `PostgresError` of kind `protocolViolation` when there is not exactly one.
    public func only<Element>(_ body: (borrowing Row) throws -> Element) throws -> Element {
        guard count == 1 else { throw PostgresError(.protocolViolation, "one row was expected, \(count) came") }
        return try body(Row(index: 0, result: result))
    }
}
