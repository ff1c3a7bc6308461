/// What the coach's last message asks. Decides how `SafetyFusion` reads a short answer to it. The default is the value when there is no message.
public struct CoachQuestion: Sendable, Equatable {
    /// A topic of a question about safety. One message may ask about several.
    struct Topics: OptionSet, Sendable {
        let rawValue: UInt8
        /// Danger: "yes" shows danger.
        static let danger = Topics(rawValue: 1)
        /// Suicide or self-harm by name. Always together with `danger`.
        static let namedDanger = Topics(rawValue: 2)
        /// Whether the user is safe: "no" shows danger.
        static let safety = Topics(rawValue: 4)
    }

    /// A question of a message that is not about safety.
    enum Other: Sendable {
        case unknown
        /// The message's last question names an everyday topic, such as a workout.
        case everyday
    }

    /// The message is about danger or safety, in a question or another sentence.
    public var isAboutSafety = false
    /// The topics of the questions.
    var topics: Topics = []
    /// nil when the message is about safety, or asks nothing.
    var other: Other?

    public init(isAboutSafety: Bool = false) { self.isAboutSafety = isAboutSafety }

    /// Asks whether the user is safe, and not about danger.
    var asksOnlyForSafety: Bool { isAboutSafety && topics == .safety }

    /// Whether a short answer shows danger of a user with this stored level.
    func counts(_ answer: CrisisGrammar.FollowUp.Answer, stored: SafetyLevel) -> Bool {
        if stored == .calm { return topics.contains(.namedDanger) && [.yes, .somewhat].contains(answer) }
        // A question that names no topic may be about danger: "When?", "Do you still feel that way?"
        guard other != .everyday else { return false }
        guard answer == .when || stored > .concern || isAboutSafety else { return false }
        return switch answer {
        case .yes: topics.contains(.danger) || !topics.contains(.safety)
        case .no: topics.contains(.safety) || !topics.contains(.danger)
        case .somewhat, .unsure, .when: true
        }
    }
}

extension MessageAssessor {
    /// Takes as long as `assess`.
    public func question(in coachMessage: String) -> CoachQuestion {
        func markers(_ text: String) -> Set<CrisisGrammar.Marker> { detector.markers(in: annotate(text)) }
        let questions = coachMessage.questions.map { markers(String($0)) }
        var question = CoachQuestion(
            isAboutSafety: !markers(coachMessage).isDisjoint(with: [.safetyQuestion, .dangerQuestion, .whetherSafe]))
        for markers in questions {
            if !markers.isDisjoint(with: [.safetyQuestion, .dangerQuestion]) { question.topics.insert(.danger) }
            if markers.contains(.dangerQuestion) { question.topics.insert(.namedDanger) }
            if markers.contains(.whetherSafe) { question.topics.insert(.safety) }
        }
        if let last = questions.last, !question.isAboutSafety { question.other = last.contains(.everyday) ? .everyday : .unknown }
        return question
    }
}

extension String {
    /// The sentences that end with a question mark, without the mark.
    fileprivate var questions: [Substring] {
        var questions: [Substring] = []
        var start = startIndex
        for index in indices {
            let mark = self[index]
            if mark == "?" { questions.append(self[start..<index]) }
            if ".!?;\n".contains(mark) { start = self.index(after: index) }
        }
        return questions
    }
}
