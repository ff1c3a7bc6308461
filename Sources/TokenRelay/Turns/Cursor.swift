import CoachCore

/// A place in a turn's answer: UTF-8 bytes already delivered. On the wire it is the `id:` (CONTRACT §4).
public struct Cursor: Sendable, Equatable {
    /// Bytes delivered so far.
    public private(set) var position: Int

    /// Starts after byte `position`.
    public init(after position: Int) { self.position = position }

    /// Moves over what was delivered.
    mutating func advance(by count: Int) { position += count }

    /// Moves back to a character's start.
    mutating func moveBack(to start: Int) { position = min(position, start) }
}

/// The result of reading on.
public enum CursorStep: Sendable, Equatable {
    /// There was a piece of the answer; the cursor stands behind it. `isLast`: another step would wait.
    case text(isLast: Bool)
    /// Everything was delivered and the turn is over and saved.
    case ended(TurnEnding)
    /// Nothing new yet.
    case waiting
}
