import CoachCore

/// What a route of `deploy/models.json` applies to, read from its name: `default`, `judge`, `tier.NAME`, `domain.NAME`, `persona.ID`.
enum RouteKey: Hashable {
    case standard
    /// The second look at messages; no turn's answer.
    case judge
    case tier(String)
    case domain(Domain)
    case persona(PersonaID)

    init?(_ name: String) {
        let parts = name.split(separator: ".", maxSplits: 1).map { String($0) }
        switch (parts.first, parts.count == 2 ? parts[1] : nil) {
        case ("default"?, nil): self = .standard
        case ("judge"?, nil): self = .judge
        case ("tier"?, let tier?): self = .tier(tier)
        case ("domain"?, let name?):
            guard let domain = Domain(rawValue: name) else { return nil }
            self = .domain(domain)
        case ("persona"?, let id?):
            guard let persona = PersonaID(validating: id) else { return nil }
            self = .persona(persona)
        default: return nil
        }
    }
}
