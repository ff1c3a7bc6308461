/// What `domains/*.json` says of one coaching domain.
public struct DomainConfiguration: Sendable, Equatable {
    /// A word or phrase that speaks for the domain, and how strongly.
    public struct Term: Sendable, Equatable {
        public var phrase: String
        /// 1 hints, 2 suggests, 3 names the domain; 0 says nothing and hides the terms inside it: "a couple of questions".
        public var weight: Float

        /// Memberwise.
        public init(phrase: String, weight: Float) {
            self.phrase = phrase
            self.weight = weight
        }
    }

    public var domain: Domain
    /// The file's own version; an operator's later versions live in the database.
    public var version: Int
    /// Shown to people.
    public var name: String
    /// Shown to people.
    public var description: String
    /// How the coach speaks.
    public var tone: String
    /// What the coach works with.
    public var methodology: String
    /// What the model is told in this domain.
    public var systemPrompt: String
    /// What the coach leaves to others.
    public var boundaries: [String]
    /// The coach's first words.
    public var greeting: String
    /// Questions that a new user may start with.
    public var starters: [String]
    /// English and Spanish routing terms.
    public var terms: [Term]
}

/// The seven domains, each exactly once.
public struct DomainConfigurations: Sendable, Equatable {
    private var byDomain: [Domain: DomainConfiguration]

    init(byDomain: [Domain: DomainConfiguration]) { self.byDomain = byDomain }

    /// In the order of `Domain.allCases`.
    public var all: [DomainConfiguration] { Domain.allCases.compactMap { byDomain[$0] } }

    /// The configuration of a domain. Every domain has one: the loader refuses anything else.
    public subscript(_ domain: Domain) -> DomainConfiguration? { byDomain[domain] }

    /// The same with one domain exchanged: an operator's version.
    public func replacing(with configuration: DomainConfiguration) -> DomainConfigurations {
        var copy = self
        copy.byDomain[configuration.domain] = configuration
        return copy
    }
}
