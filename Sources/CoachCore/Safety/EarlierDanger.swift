/// The danger of the last message before that was a crisis, or else showed some, while the stored level is raised: what a later message without danger of its
/// own is about.
public struct EarlierDanger: Sendable, Equatable {
    public var categories: [RiskCategory]
    public var subject: RiskSubject

    public init(categories: [RiskCategory], subject: RiskSubject) {
        self.categories = categories
        self.subject = subject
    }
}
