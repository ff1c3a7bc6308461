import CoachCore

/// The answer of a model call that is read as a whole, with the usage to bill. Made from the call's updates. Pure.
struct WholeAnswer: Sendable {
    private(set) var calls = CallTally()
    private(set) var text: [UInt8] = []
    /// nil while the call runs.
    private(set) var end: ModelEnd?

    /// Bytes of text that are billed and are not in `text`, because another provider had begun the answer anew.
    var withheldBytes: Int { max(0, calls.ended.unusedTextBytes - text.count) }

    /// - Parameter limit: bytes of text; what is beyond is left out.
    mutating func take(_ update: ModelUpdate, limit: Int = .max) {
        calls.take(update)
        // Another provider begins the answer anew.
        if update.acceptedBy != nil { text = [] }
        text.append(contentsOf: update.text.prefix(limit - text.count))
        end = update.end ?? end
    }
}
