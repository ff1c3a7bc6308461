/// The name of an object's member as it stands in the text (unescaped only if it contained an escape).
///
/// Matches literals without making a `String`: `switch key { case "delta": … }`, `key == "delta"`.
public struct JSONKey: Sendable {
    /// The name in UTF-8.
    public let utf8: ArraySlice<UInt8>

    /// The name as text.
    public var string: String { String(decoding: utf8, as: UTF8.self) }

    /// Whether the name is exactly this literal.
    public static func == (key: JSONKey, literal: StaticString) -> Bool {
        key.utf8.elementsEqual(literal.utf8)
    }

    /// The same for `switch`.
    public static func ~= (literal: StaticString, key: JSONKey) -> Bool { key == literal }
}
