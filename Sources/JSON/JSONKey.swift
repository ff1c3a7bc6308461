/// The unescaped name of an object's member.
///
/// Can be compared with literals without a `String`: `switch key { case "delta": … }`, `key == "delta"`.
public struct JSONKey: Sendable {
    /// The name in UTF-8.
    public let utf8: ArraySlice<UInt8>

    /// The name as text.
    public var string: String { String(decoding: utf8, as: UTF8.self) }

    /// Whether the name is exactly this literal.
    public static func == (key: JSONKey, literal: StaticString) -> Bool {
        // Readers compare each name with several literals, of which most differ in length.
        key.utf8.count == literal.utf8CodeUnitCount && key.utf8.elementsEqual(literal.utf8)
    }

    /// Matches the literal in a `switch`.
    public static func ~= (literal: StaticString, key: JSONKey) -> Bool { key == literal }
}
