#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONWriter {
    /// `"name":"0b5f…"` in lower case, or `null`.
    public mutating func member(_ name: StaticString, _ id: UUID?) {
        member(name, id?.canonicalText)
    }

    /// `"name":"2026-03-01T12:00:00.000Z"`, or `null`.
    public mutating func member(_ name: StaticString, _ time: Timestamp?) {
        member(name, time?.rfc3339)
    }
}
