/// A message as folded tokens, in two forms: plain, and with obfuscated words restored ("k i l l", "su1c1de").
struct NormalisedMessage {
    let plain: TokenSequence
    /// nil when no word was obfuscated.
    let deobfuscated: TokenSequence?

    /// Maximum Unicode scalars used. Of a longer text only the first and last half are used, which bounds the work.
    static let scalarLimit = TurnRequest.maximumMessageScalars

    init(_ message: String) {
        let units = NormalisedMessage.fold(message)
        plain = TokenSequence(units)
        deobfuscated = Deobfuscation.restore(units).map(TokenSequence.init)
    }

    /// The folded scalars (`ScalarFolding`) of a message.
    static func fold(_ message: String) -> [UInt32] {
        var units: [UInt32] = []
        let scalars = message.unicodeScalars
        units.reserveCapacity(min(message.utf8.count, scalarLimit) + 8)
        // A text has at most one scalar per byte, so short texts need no count.
        if message.utf8.count <= scalarLimit || scalars.count <= scalarLimit {
            for scalar in scalars { ScalarFolding.append(scalar, to: &units) }
        } else {
            for scalar in scalars.prefix(scalarLimit / 2) { ScalarFolding.append(scalar, to: &units) }
            units.append(0x0A)
            for scalar in scalars.suffix(scalarLimit / 2) { ScalarFolding.append(scalar, to: &units) }
        }
        return units
    }

    /// The middle of a text over the limit, which `fold` leaves out, in at most three parts within the limit. Each part shares some words with its
    /// neighbours, so that each sentence up to there is whole in one part.
    static func omittedParts(of text: String) -> [String] {
        let scalars = text.unicodeScalars
        guard text.utf8.count > scalarLimit, scalars.count > scalarLimit else { return [] }
        let shared = scalarLimit / 40
        var rest = scalars.dropFirst(scalarLimit / 2 - shared).dropLast(scalarLimit / 2 - shared)
        var parts: [String] = []
        while parts.count < 3, !rest.isEmpty {
            parts.append(String(rest.prefix(scalarLimit)))
            rest = rest.count > scalarLimit ? rest.dropFirst(scalarLimit - shared) : rest.dropFirst(scalarLimit)
        }
        return parts
    }
}
