/// What an edited configuration of domains would change: messages that were routed, routed again by the current and by the edited configuration.
public struct RoutingReplay: Sendable, Equatable {
    /// A message goes elsewhere; nil is the generic answer.
    public struct Change: Sendable, Hashable {
        public var from: Domain?
        public var to: Domain?

        public init(from: Domain?, to: Domain?) {
            self.from = from
            self.to = to
        }
    }

    /// How many messages were tried.
    public var messages: Int
    /// Authors of messages that would be routed differently.
    public var changes: [Change: Set<Int>]

    public init(messages: Int = 0, changes: [Change: Set<Int>] = [:]) {
        self.messages = messages
        self.changes = changes
    }

    /// Routes a message by both configurations, as one without a pin and a persona: these decide before any message. Takes some milliseconds.
    public mutating func add(_ message: RoutedMessage, current: MessageAssessor, edited: MessageAssessor) {
        let domains = MessageAssessor.domains(message.text, by: [current, edited]).map { scores in
            DomainRouter().decide(scores, pinned: nil, persona: nil, conversationDomain: message.conversationDomain).domain
        }
        messages += 1
        if domains[0] != domains[1] { changes[Change(from: domains[0], to: domains[1]), default: []].insert(message.author) }
    }

    /// Operators read multiples of this. With exact numbers, or if a user counted more than once, they could try one word after another and learn what
    /// one user wrote.
    public static let step = FigureValue.smallestCount

    /// How many messages would go elsewhere, one of each user at most, rounded down to steps; nil below the first, also when there is none.
    public var roundedTotal: Int? { Self.rounded(changes.values.reduce(into: []) { $0.formUnion($1) }) }
    /// The changes of a step of messages or more.
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
