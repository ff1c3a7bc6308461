import CoachCore

/// A reader's position in a turn's answer: the number of UTF-8 bytes already delivered. On the wire it is the event's `id:` (CONTRACT §4).
public struct Cursor: Sendable, Equatable {
    /// Bytes delivered so far.
    public private(set) var position: Int

    /// A cursor after the first `position` bytes.
    public init(after position: Int) { self.position = position }

    mutating func advance(by count: Int) { position += count }

    /// Moves back to `start`, the first byte of a character; never forward.
    mutating func moveBack(to start: Int) { position = min(position, start) }
}

/// The result of `LiveTurn.step`.
public enum CursorStep: Sendable, Equatable {
    /// A piece of text was read, and the cursor moved after it. `isLast`: no more is available now.
    case text(isLast: Bool)
    /// All text was read, and the turn has ended and is saved. Indirect, so that a token's step does not copy the space for an ending.
    indirect case ended(TurnEnding)
    /// No text is available yet.
    case waiting
}
