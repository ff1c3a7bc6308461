import FoundationEssentials
import JSON

/// One parameter in the form that is sent to the server.
public enum QueryParameter: Hashable, Sendable {
    /// SQL's NULL.
    case null
    /// The value in the server's text form. The server infers its type from its position in the SQL.
    case text(String)
    /// The value in the server's binary form of a type, named by its OID.
    case binary([UInt8], typeID: UInt32)

    /// The type's OID for the server; 0: inferred.
    var typeID: UInt32 {
        if case .binary(_, let typeID) = self { typeID } else { 0 }
    }
}

/// A type that can be interpolated into a `Query` as a parameter. Give your own identifiers a conformance.
public protocol QueryValue {
    /// The value in the form that is sent.
    var queryParameter: QueryParameter { get }
}

extension String: QueryValue {
    public var queryParameter: QueryParameter { .text(self) }
}

extension Substring: QueryValue {
    public var queryParameter: QueryParameter { .text(String(self)) }
}

extension Bool: QueryValue {
    public var queryParameter: QueryParameter { .text(self ? "t" : "f") }
}

extension QueryValue where Self: BinaryInteger {
    public var queryParameter: QueryParameter { .text(String(self)) }
}

extension Int: QueryValue {}
extension Int64: QueryValue {}
extension Int32: QueryValue {}
extension Int16: QueryValue {}

extension Double: QueryValue {
    public var queryParameter: QueryParameter {
        .text(isInfinite ? (self < 0 ? "-Infinity" : "Infinity") : isNaN ? "NaN" : description)
    }
}

extension UUID: QueryValue {
    public var queryParameter: QueryParameter { .text(canonicalText) }
}

extension Optional: QueryValue where Wrapped: QueryValue {
    public var queryParameter: QueryParameter { self?.queryParameter ?? .null }
}

/// `[UInt8]` is a `bytea`, `[Int32]` an `integer[]`, an array of UUIDs a `uuid[]`, each in binary form. For every other array the server infers the
/// type; add a cast where it cannot: `unnest(\(names)::text[])`.
extension Array: QueryValue where Element: QueryArrayElement {
    public var queryParameter: QueryParameter { Element.parameter(of: self) }
}

/// A type that can be the element of an array parameter.
public protocol QueryArrayElement {
    /// The parameter for a whole array of this type.
    static func parameter(of array: [Self]) -> QueryParameter
}

extension QueryArrayElement where Self: QueryValue {
    public static func parameter(of array: [Self]) -> QueryParameter {
        .text(ArrayLiteral.encode(array.map(\.queryParameter)))
    }
}

extension UInt8: QueryArrayElement {
    public static func parameter(of array: [UInt8]) -> QueryParameter { .binary(array, typeID: 17) }
}

extension Int32: QueryArrayElement {
    public static func parameter(of array: [Int32]) -> QueryParameter { BinaryArray.parameter(of: array) }
}

extension UUID: QueryArrayElement {
    public static func parameter(of array: [UUID]) -> QueryParameter { BinaryArray.parameter(of: array) }
}

extension String: QueryArrayElement {}
extension Bool: QueryArrayElement {}
extension Int: QueryArrayElement {}
extension Int64: QueryArrayElement {}
extension Double: QueryArrayElement {}
extension Optional: QueryArrayElement where Wrapped: QueryValue {}
