import ChatAPI
import CoachCore
import JSON

/// What operators edit while the gateway runs. The one place where a kind of document is declared: its shipped version, its reader, and what it
/// replaces when it changes.
struct EditableDocuments: Sendable {
    let coaching: LiveValue<Coaching>
    let prices: LiveValue<PriceBook>
    let tiers: LiveValue<TierBook>
    let alertRules: LiveValue<AlertRules>
    let domains: DocumentType
    let priceList: DocumentType
    let limits: DocumentType
    let alerts: DocumentType

    var types: [DocumentType] { [domains, priceList, limits, alerts] }

    /// Begins with the shipped versions.
    init(_ files: ProductFiles) {
        let coaching = LiveValue(files.coachingParts.coaching(files.coachingParts.domains))
        let prices = LiveValue(files.prices)
        self.coaching = coaching
        let tiers = LiveValue(files.tiers)
        self.prices = prices
        self.tiers = tiers
        let alertRules = LiveValue(files.alertRules)
        self.alertRules = alertRules
        domains = Self.domains(files.coachingParts) { coaching.replace(with: $0) }
        priceList = .single(.prices, shipped: files.priceBody) { prices.replace(with: $0) }
        limits = .single(.limits, shipped: files.tierBody) { tiers.replace(with: $0) }
        alerts = .single(.alertRules, shipped: files.alertBody) { alertRules.replace(with: $0) }
    }

    private static func domains(_ parts: CoachingParts, swap: @escaping @Sendable (Coaching) -> Void) -> DocumentType {
        DocumentType(.domain, shipped: parts.domainBodies) { (id, json) throws(JSONFinding) in
            let configuration = try DomainConfiguration(json)
            if configuration.domain.rawValue != id { try json.report("id", .invalid("must be \(id)")) }
            return configuration
        } swap: {
            swap(parts.coaching(DomainConfigurations($0.values)))
        }
    }
}

extension DocumentType {
    /// A kind with one document.
    fileprivate static func single<Value: JSONReadable & Sendable>(
        _ kind: DocumentKind, shipped: JSONValue, swap: @escaping @Sendable (Value) -> Void
    ) -> DocumentType {
        DocumentType(kind, shipped: [DocumentName.onlyID: shipped]) { (_, json) throws(JSONFinding) in
            try Value(json)
        } swap: { values in
            if let value = values[DocumentName.onlyID] { swap(value) }
        }
    }
}
