/// What the coach's last message asks, by which short answers to it are read (`SafetyFusion`). The default is that of no message.
public struct CoachQuestion: Sendable, Equatable {
    /// Asks about safety or danger.
    public var isAboutSafety = false
    /// A question names suicide or self-harm.
    public var namesDanger = false
    /// False when it asks whether the user is safe, and not about danger.
    public var yesIsDanger = true
    /// False when it asks about danger, and not whether the user is safe.
    public var noIsDanger = true
    /// Asks something, and nothing about safety.
    public var isOther = false
    /// The last question of one that is `isOther` names an everyday topic, such as a workout.
    public var isEveryday = false

    public init(isAboutSafety: Bool = false) { self.isAboutSafety = isAboutSafety }

    /// Asks whether the user is safe, and not about danger.
    var asksWhetherSafe: Bool { isAboutSafety && !yesIsDanger }

    /// Whether a short answer shows danger of a user with this stored level. "Tonight" counts after a crisis unless the question was an everyday
    /// one, because "when?" names nothing.
    func counts(_ answer: CrisisGrammar.FollowUp.Answer, stored: SafetyLevel) -> Bool {
        if stored == .calm { return namesDanger && [.yes, .somewhat].contains(answer) }
        guard stored > .concern || isAboutSafety else { return false }
        return switch answer {
        case .yes: !isOther && yesIsDanger
        case .no: !isOther && noIsDanger
        case .somewhat, .unsure: !isOther
        case .when: !isEveryday
        }
    }
}

extension MessageAssessor {
    public func question(in coachMessage: String) -> CoachQuestion {
        func markers(_ text: String) -> Set<CrisisGrammar.Marker> { detector.markers(in: annotate(text)) }
        let questions = coachMessage.questions.map { markers(String($0)) }
        let ofDanger: Set<CrisisGrammar.Marker> = [.safetyQuestion, .dangerQuestion]
        let asksOfDanger = questions.contains { !$0.isDisjoint(with: ofDanger) }
        let asksOfSafety = questions.contains { $0.contains(.whetherSafe) }
        var question = CoachQuestion(isAboutSafety: !markers(coachMessage).isDisjoint(with: ofDanger.union([.whetherSafe])))
        question.namesDanger = questions.contains { $0.contains(.dangerQuestion) }
        question.yesIsDanger = asksOfDanger || !asksOfSafety
        question.noIsDanger = asksOfSafety || !asksOfDanger
        question.isOther = !questions.isEmpty && !question.isAboutSafety
        question.isEveryday = question.isOther && questions.last?.contains(.everyday) == true
        return question
    }
}

extension String {
    /// The sentences that end with a question mark, without it.
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
