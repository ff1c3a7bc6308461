/// Words and phrases that the encoders do not read, because after a disclosure they make the encoders take it for a joke or small talk. Of 118 messages
/// in danger with a card, by a writer of none of the training rows, 77 kept the card with "lol" added, 81 with "haha", 99 with "any tips?", and 107 with
/// "thanks".
enum Fillers {
    /// Left out everywhere in a message.
    static let laughter: Set<UInt64> = {
        var words = ["lol", "lolol", "lmao", "lmfao", "rofl", "xd", "xdd", "mdr", "ptdr", "kkk", "kkkk", "rsrs"]
        for syllable in ["ha", "ja", "je", "he", "ah", "eh"] {
            // "haha" and "hahah".
            for count in 2...8 { words += ["", syllable.prefix(1)].map { String(repeating: syllable, count: count) + $0 } }
        }
        return Set((words + [":laugh:"]).flatMap { TokenSequence(phrase: $0).hashes })
    }()

    /// Left out at the end of a message. The longest phrases are first.
    static let closings: [[UInt64]] = [
        "any tips", "any advice", "any ideas", "any thoughts", "any suggestions", "tips please", "thanks", "thank you", "thanks in advance",
        "thx", "ty",
        "tysm", "ok", "okay", "idk", "so yeah", "anyway", "anyways", "whatever", "what do you think",
        "gracias", "muchas gracias", "vale", "algun consejo", "algún consejo", "alguna idea", "en fin", "qué opinas",
        "danke", "danke dir", "tipps", "irgendwelche tipps", "hast du tipps", "naja", "egal",
        "merci", "merci d'avance", "des conseils", "un conseil", "bref", "voilà",
        "obrigado", "obrigada", "alguma dica", "algum conselho", "enfim", "valeu",
    ].map { TokenSequence(phrase: $0).hashes }.sorted { $0.count > $1.count }
}

extension TokenSequence {
    /// The message without fillers. The whole message when fewer words than `MessageAssessor.fewestWords` would be left.
    var withoutFillers: TokenSequence {
        var rest = tokens.filter { !Fillers.laughter.contains($0.hash) }
        while let closing = Fillers.closings.first(where: { rest.count > $0.count && rest.suffix($0.count).map(\.hash) == $0 }) {
            rest.removeLast(closing.count)
        }
        guard rest.count >= MessageAssessor.fewestWords, rest.count < tokens.count else { return self }
        return with(tokens: rest)
    }
}
