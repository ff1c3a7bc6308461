/// The effect of an edited configuration of domains: past messages, routed again by the current and by the edited configuration.
public struct RoutingReplay: Sendable, Equatable {
    /// The domain of a message by the current and by the edited configuration; nil is the generic answer.
    public struct Change: Sendable, Hashable {
        public var from: Domain?
        public var to: Domain?

        public init(from: Domain?, to: Domain?) {
            self.from = from
            self.to = to
        }
    }

    /// The number of messages.
    public var messages: Int
    /// For each change, the authors of the messages that it affects.
    public var changes: [Change: Set<Int>]

    public init(messages: Int = 0, changes: [Change: Set<Int>] = [:]) {
        self.messages = messages
        self.changes = changes
    }

    /// Routes a message by both configurations, without a pin and a persona, which the configuration does not affect. Takes some milliseconds.
    public mutating func add(_ message: RoutedMessage, current: MessageAssessor, edited: MessageAssessor) {
        let domains = MessageAssessor.domains(message.text, by: [current, edited]).map { scores in
            DomainRouter.decide(scores, conversationDomain: message.conversationDomain).domain
        }
        messages += 1
        if domains[0] != domains[1] { changes[Change(from: domains[0], to: domains[1]), default: []].insert(message.author) }
    }

    /// Operators read multiples of this, and each user counts once. Otherwise they could try one word after another and learn what one user wrote.
    public static let step = FigureValue.smallestCount

    /// The number of users with a message that would be routed differently, rounded down to a multiple of `step`; nil below `step`, and for none.
    public var roundedTotal: Int? { Self.rounded(changes.values.reduce(into: []) { $0.formUnion($1) }) }
    /// The same for each change. Changes below `step` are left out.
    public var roundedChanges: [Change: Int] { changes.compactMapValues(Self.rounded) }

    private static func rounded(_ authors: Set<Int>) -> Int? { authors.count < step ? nil : authors.count / step * step }
}

/// A message whose domain the router decided.
public struct RoutedMessage: Sendable, Equatable {
    public var text: String
    /// The domain that the conversation had before.
    public var conversationDomain: Domain?
    /// A number that tells the users of one answer apart.
    public var author: Int

    public init(text: String, conversationDomain: Domain?, author: Int) {
        self.text = text
        self.conversationDomain = conversationDomain
        self.author = author
    }
}
