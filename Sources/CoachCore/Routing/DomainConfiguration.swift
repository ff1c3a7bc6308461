/// The validated content of one file of `domains/`: names, prompt texts and routing terms of a coaching domain.
public struct DomainConfiguration: Sendable, Equatable {
    /// A routing term: a word or phrase that is evidence for the domain.
    public struct Term: Sendable, Equatable {
        public var phrase: String
        /// 1 weak evidence, 2 strong, 3 names the domain. 0 is no evidence, and masks the terms inside it: "a couple of questions".
        public var weight: Float

        public init(phrase: String, weight: Float) {
            self.phrase = phrase
            self.weight = weight
        }
    }

    public var domain: Domain
    /// Version of the file; its editors increment it.
    public var version: Int
    /// Display name.
    public var name: String
    /// One sentence for display.
    public var description: String
    /// Tone of the coach, for the prompt.
    public var tone: String
    /// Coaching methods, for the prompt.
    public var methodology: String
    /// Guidance for the model, for the prompt.
    public var systemPrompt: String
    /// Topics that the coach does not handle, for the prompt.
    public var boundaries: [String]
    /// First message of the coach, for display.
    public var greeting: String
    /// Example first messages for the user, for display.
    public var starters: [String]
    /// English and Spanish routing terms.
    public var terms: [Term]
}

/// The configurations of all seven domains.
public struct DomainConfigurations: Sendable, Equatable {
    private let byDomain: [Domain: DomainConfiguration]

    init(byDomain: [Domain: DomainConfiguration]) { self.byDomain = byDomain }

    /// One of each domain.
    public init(_ configurations: some Sequence<DomainConfiguration>) {
        self.init(byDomain: Dictionary(configurations.map { ($0.domain, $0) }) { first, _ in first })
    }

    /// In the order of `Domain.allCases`.
    public var all: [DomainConfiguration] { Domain.allCases.compactMap { byDomain[$0] } }

    /// The configuration of a domain; never nil after a successful load.
    public subscript(_ domain: Domain) -> DomainConfiguration? { byDomain[domain] }
}
