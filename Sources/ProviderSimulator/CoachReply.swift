/// Generates the answer of a request without a script: 60 to 120 words about the topic of the last message, deterministic by message. Curly
/// quotes, dashes, accents and an emoji put multi-byte characters into every answer.
enum CoachReply {
    /// The answer to a message. Ignores tags and embedded scripts in the message.
    static func text(to message: String) -> String {
        let userText = plainText(of: message)
        let choice = stableHash(userText)
        let theme = Theme.of(userText)
        let opening = openings[Int(choice % UInt64(openings.count))]
        let closing = closings[Int((choice >> 8) % UInt64(closings.count))]
        let quote = excerpt(of: userText)
        let echo = quote.isEmpty ? "I’m glad you’re here today." : opening.replacing("%", with: quote)
        return "\(echo) \(theme.thought) \(theme.step) \(closing)"
    }

    private static let openings = [
        "Thank you for telling me that — “%” says a lot about what matters to you right now.",
        "I hear you. When you say “%”, I notice both the weight of it and the wish to move.",
        "“%” — that’s an honest place to begin, and it takes some courage to put into words.",
        "It sounds as if “%” has been on your mind for a while, and I’m glad you brought it here.",
    ]

    private static let closings = [
        "What would make this feel just ten percent lighter by tomorrow evening? 🌱",
        "If you could name one small sign that it’s going better, what would it be? ✨",
        "What has helped you before, even a little, that we could build on — naïve as it may seem? 🙂",
        "Which part of this would you like us to look at first? I’m right here with you. 💛",
    ]

    /// The message without scripts, without tags that a gateway puts around the user's words, and with single spaces.
    private static func plainText(of message: String) -> String {
        var plain = ""
        var insideTag = false
        for character in Script.removingEmbedded(from: message) {
            switch character {
            case "<": insideTag = true
            case ">" where insideTag:
                insideTag = false
                plain.append(" ")
            default: if !insideTag { plain.append(character) }
            }
        }
        return plain.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The first nine words of the last sentence that has at least three, else of the whole.
    private static func excerpt(of text: String) -> String {
        let sentences = text.split { ".!?\n".contains($0) }.map { $0.split(separator: " ") }
        let sentence = sentences.last { $0.count >= 3 } ?? text.split(separator: " ")
        let words = sentence.prefix(9).joined(separator: " ").filter { !"“”\"".contains($0) }.prefix(80)
        return sentence.count > 9 ? words + "…" : String(words)
    }

    private struct Theme {
        let words: [String]
        let thought: String
        let step: String

        /// The theme whose words occur most often in a message; the general one when none does.
        static func of(_ text: String) -> Theme {
            let words = text.lowercased().split { !$0.isLetter }
            func hits(_ theme: Theme) -> Int { words.count { word in theme.words.contains { word.hasPrefix($0) } } }
            let best = all.max { hits($0) < hits($1) }
            return best.flatMap { hits($0) > 0 ? $0 : nil } ?? general
        }

        static let general = Theme(
            words: [],
            thought: "Before we look for answers, let’s slow down and notice what exactly you’re hoping will change, because a clear "
                + "wish is already half of a plan.",
            step: "Try this: write down three sentences about how a good week would look, and underline the one that you can influence "
                + "yourself.")

        static let all: [Theme] = [
            Theme(
                words: ["work", "job", "boss", "career", "promot", "interview", "meeting", "present", "colleague", "team"],
                thought: "Work takes up so much of our day that a knot there is felt everywhere, and wanting clarity about it is a "
                    + "strength, not a complaint.",
                step: "Let’s make it concrete: pick the one conversation that would change the most, and draft its first sentence today."),
            Theme(
                words: ["sleep", "tired", "exhaust", "insomnia", "awake", "rest"],
                thought: "When rest goes missing, everything else costs double, so please be gentle with yourself about what you "
                    + "did or didn’t get done.",
                step:
                    "Tonight, put the phone in another room at 22:00, dim the lights, and write tomorrow’s worries on paper — they’ll keep."
            ),
            Theme(
                words: ["run", "gym", "train", "exercise", "weight", "fit", "health", "eat", "food", "walk"],
                thought: "Bodies change slowly and in small, kind steps; the plan you can keep on a bad day beats the perfect one.",
                step: "How about a ten-minute walk right after breakfast, three times this week, no tracking, no judgement — just shoes on?"
            ),
            Theme(
                words: ["partner", "wife", "husband", "friend", "love", "relationship", "marriage", "mother", "father", "famil", "alone"],
                thought: "Closeness asks us to be seen, and that can feel risky even with the people we love the most.",
                step: "One idea: choose a calm moment and begin with “I feel … when …, and I’d like …”, then leave room for a pause."),
            Theme(
                words: ["money", "debt", "budget", "save", "saving", "spend", "rent", "invest", "financ"],
                thought: "Money worries are rarely only about numbers; they’re about safety and choice, and both can grow step by step.",
                step: "Let’s start with one page: what comes in, what must go out, and a single €5 habit you could redirect this week."),
            Theme(
                words: ["anxi", "stress", "worr", "panic", "overwhelm", "nervous", "afraid", "fear", "pressure"],
                thought: "Your body is trying to protect you, even if it’s louder than it needs to be just now.",
                step: "Try a slow breath — four in, six out, five times — and then name the very next small thing, nothing beyond it."),
            Theme(
                words: ["habit", "procrastinat", "focus", "motivat", "routine", "goal", "learn", "study", "exam", "start"],
                thought: "Getting started is usually the hardest part, and it gets easier when the first step is almost embarrassingly "
                    + "small.",
                step:
                    "Set a timer for five minutes today, begin with the easiest piece, and stop when it rings — a déjà vu tomorrow is enough."
            ),
        ]
    }
}
