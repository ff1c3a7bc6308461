import CLibPQ
import FoundationEssentials
import JSON

/// One row of a result, valid only in the closure that decodes it.
public struct Row: ~Copyable {
    private let index: Int
    // SAFETY: `Rows` passes rows to closures as `borrowing` and is not freed meanwhile; a noncopyable borrow cannot be stored.
    private let result: OpaquePointer

    init(index: Int, result: OpaquePointer) {
        self.index = index
        self.result = result
    }

    /// The value of a column by its index, from 0. `Value` must be an optional if the column can be NULL.
    /// - Throws: `PostgresError` of kind `protocolViolation` that names the column when it does not exist, is NULL, or holds something
    ///   else.
    public func value<Value: ColumnValue>(_ column: Int, as type: Value.Type = Value.self) throws -> Value {
        guard (0..<Int(PQnfields(result))).contains(column) else {
            throw PostgresError(.protocolViolation, "the result has no column \(column)")
        }
        let (row, column) = (Int32(index), Int32(column))
        var field: UnsafeRawBufferPointer?
        if PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) {
            field = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        }
        guard let value = Value(column: field) else {
            throw PostgresError(.protocolViolation, "column \(column) is \(field == nil ? "NULL" : "not a \(Value.self)")")
        }
        return value
    }
}

/// A type that a column can be decoded to.
public protocol ColumnValue {
    /// Decodes a field in the server's text form (nil: NULL). Nil when it is something else.
    init?(column: UnsafeRawBufferPointer?)
}

extension String: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let column else { return nil }
        self.init(decoding: column, as: UTF8.self)
    }
}

extension ColumnValue where Self: LosslessStringConvertible {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let text = String(column: column) else { return nil }
        self.init(text)
    }
}

extension Int64: ColumnValue {
    /// Without a `String`, and not generic, which other modules would call unspecialised: figures have a hundred thousand of them.
    public init?(column: UnsafeRawBufferPointer?) {
        guard let column, let first = column.first else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        var index = isNegative ? 1 : 0
        guard index < column.count else { return nil }
        // Below zero, where there is one number more.
        var value: Int64 = 0
        while index < column.count {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(column[index]) else { return nil }
            let (product, isTooSmall) = value.multipliedReportingOverflow(by: 10)
            let (sum, isStillTooSmall) = product.subtractingReportingOverflow(Int64(column[index] - UInt8(ascii: "0")))
            guard !isTooSmall, !isStillTooSmall else { return nil }
            value = sum
            index += 1
        }
        guard isNegative || value != .min else { return nil }
        self = isNegative ? value : -value
    }
}

extension Int: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let value = Int64(column: column) else { return nil }
        self.init(exactly: value)
    }
}

extension Int32: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let value = Int64(column: column) else { return nil }
        self.init(exactly: value)
    }
}

extension Double: ColumnValue {}

extension Bool: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        switch column?.first {
        case UInt8(ascii: "t"): self = true
        case UInt8(ascii: "f"): self = false
        default: return nil
        }
    }
}

extension UUID: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let column else { return nil }
        self.init(canonical: column)
    }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let column else {
            self = nil as Wrapped?
            return
        }
        guard let value = Wrapped(column: column) else { return nil }
        self = value
    }
}

/// `[UInt8]` is decoded from a `bytea`, every other array from a one-dimensional PostgreSQL array.
extension Array: ColumnValue where Element: ColumnArrayElement {
    public init?(column: UnsafeRawBufferPointer?) {
        guard let column, let elements = Element.elements(of: column) else { return nil }
        self = elements
    }
}

/// A type that the elements of an array column can be decoded to.
public protocol ColumnArrayElement {
    /// Decodes a whole array in the server's text form. Nil when it is something else.
    static func elements(of column: UnsafeRawBufferPointer) -> [Self]?
}

extension ColumnArrayElement where Self: ColumnValue {
    public static func elements(of column: UnsafeRawBufferPointer) -> [Self]? {
        guard let texts = ArrayLiteral.decode(String(decoding: column, as: UTF8.self)) else { return nil }
        var elements: [Self] = []
        for text in texts {
            guard let element = decode(text) else { return nil }
            elements.append(element)
        }
        return elements
    }

    private static func decode(_ text: String?) -> Self? {
        guard var text else { return Self(column: nil) }
        return text.withUTF8 { Self(column: UnsafeRawBufferPointer($0)) }
    }
}

extension UInt8: ColumnArrayElement {
    public static func elements(of column: UnsafeRawBufferPointer) -> [UInt8]? { HexLiteral.decode(column) }
}

extension String: ColumnArrayElement {}
extension Int: ColumnArrayElement {}
extension Int64: ColumnArrayElement {}
extension Bool: ColumnArrayElement {}
extension UUID: ColumnArrayElement {}
extension Optional: ColumnArrayElement where Wrapped: ColumnValue {}
