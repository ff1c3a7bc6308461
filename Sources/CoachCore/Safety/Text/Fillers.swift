/// Words and phrases that the encoders do not read, because they take a disclosure for a joke or for small talk when one stands behind it: of 118 messages in
/// danger by a writer of no rows, each with a card, 77 kept it before "lol", 81 before "haha", 99 before "any tips?", and 107 before "thanks".
enum Fillers {
    /// Not read wherever they stand.
    static let laughter: Set<UInt64> = {
        var words = ["lol", "lolol", "lmao", "lmfao", "rofl", "xd", "xdd", "mdr", "ptdr", "kkk", "kkkk", "rsrs"]
        for syllable in ["ha", "ja", "je", "he", "ah", "eh"] {
            // With or without half a syllable at the end: "haha", "hahah".
            for count in 2...8 { words += ["", syllable.prefix(1)].map { String(repeating: syllable, count: count) + $0 } }
        }
        let emoji = TokenSequence([ScalarFolding.emojiMark] + NormalisedMessage.fold("laugh")).tokens.map(\.hash)
        return Set(words.flatMap(hashes) + emoji)
    }()

    /// Not read at the end of a message, the longest first.
    static let closings: [[UInt64]] = [
        "any tips", "any advice", "any ideas", "any thoughts", "any suggestions", "tips please", "thanks", "thank you", "thanks in advance",
        "thx", "ty",
        "tysm", "ok", "okay", "idk", "so yeah", "anyway", "anyways", "whatever", "what do you think",
        "gracias", "muchas gracias", "vale", "algun consejo", "algún consejo", "alguna idea", "en fin", "qué opinas",
        "danke", "danke dir", "tipps", "irgendwelche tipps", "hast du tipps", "naja", "egal",
        "merci", "merci d'avance", "des conseils", "un conseil", "bref", "voilà",
        "obrigado", "obrigada", "alguma dica", "algum conselho", "enfim", "valeu",
    ].map(hashes).sorted { $0.count > $1.count }

    private static func hashes(_ text: String) -> [UInt64] { TokenSequence(NormalisedMessage.fold(text)).tokens.map(\.hash) }
}

extension TokenSequence {
    /// Without fillers, unless too little would be left to judge by.
    var withoutFillers: TokenSequence {
        var rest = tokens.filter { !Fillers.laughter.contains($0.hash) }
        while let closing = Fillers.closings.first(where: { rest.count > $0.count && rest.suffix($0.count).map(\.hash) == $0 }) {
            rest.removeLast(closing.count)
        }
        guard rest.count >= MessageAssessor.fewestWords, rest.count < tokens.count else { return self }
        return with(tokens: rest)
    }
}
