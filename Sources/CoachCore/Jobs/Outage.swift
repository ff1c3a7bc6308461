/// Whether the last attempt at something failed: an outage is reported when it begins and when it ends, not at each attempt. Pure.
public struct Outage: Sendable, Equatable {
    private var isUnderWay = false

    public init() {}

    /// An attempt failed. True for the first of an outage.
    public mutating func began() -> Bool {
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// An attempt succeeded. True when the one before had failed.
    public mutating func ended() -> Bool {
        defer { isUnderWay = false }
        return isUnderWay
    }
}
