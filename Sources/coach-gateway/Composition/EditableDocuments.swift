import ChatAPI
import CoachCore
import Dispatch
import JSON
import OperatorAPI

/// What operators edit while the gateway runs. The one place where a kind of document is declared: its shipped version, its reader, and what it
/// replaces when it changes.
struct EditableDocuments: Sendable {
    let coaching: LiveValue<CoachingConfiguration>
    let prices: LiveValue<PriceBook>
    let tiers: LiveValue<TierBook>
    let alertRules: LiveValue<AlertRules>
    let domains: DocumentType
    let priceList: DocumentType
    let limits: DocumentType
    let alerts: DocumentType
    private let parts: CoachingParts

    var types: [DocumentType] { [domains, priceList, limits, alerts] }

    /// Begins with the shipped versions.
    init(_ files: ProductFiles) {
        parts = files.coachingParts
        coaching = LiveValue(parts.configuration(parts.domains))
        prices = LiveValue(files.prices.value)
        tiers = LiveValue(files.tiers.value)
        alertRules = LiveValue(files.alertRules.value)
        domains = Self.domains(parts, replacing: coaching)
        priceList = .single(.prices, shipped: files.prices.body, replacing: prices)
        limits = .single(.limits, shipped: files.tiers.body, replacing: tiers)
        alerts = .single(.alertRules, shipped: files.alertRules.body, replacing: alertRules)
    }

    /// Messages that a dry run routes again: enough for shares of a percent, and some seconds.
    private static let replayedMessages = 1_000

    /// A dry run of a domain configuration on messages that were routed.
    func replay(on messages: RoutedMessages) -> DocumentReplay {
        // The encoder is slow, so not on an event loop; one after another, so that turns go on meanwhile.
        let replays = DispatchQueue(label: "routing replay", qos: .utility)
        return { [parts, coaching] caller, id, body in
            let sample = try await messages.newest(caller, Self.replayedMessages)
            let current = coaching.current.domains
            let (edited, _) = JSONReader.collect(body) { (json) throws(JSONFinding) in try DomainConfiguration(json) }
            let changed = DomainConfigurations(current.all.map { $0.domain.rawValue == id ? edited ?? $0 : $0 })
            let (before, after) = (parts.assessor(current), parts.assessor(changed))
            return await withCheckedContinuation { continuation in
                replays.async {
                    var replay = RoutingReplay()
                    for message in sample { replay.add(message, current: before, edited: after) }
                    continuation.resume(returning: replay)
                }
            }
        }
    }

    private static func domains(_ parts: CoachingParts, replacing live: LiveValue<CoachingConfiguration>) -> DocumentType {
        DocumentType(.domain, shipped: parts.domainBodies) { (id, json) throws(JSONFinding) in
            let configuration = try DomainConfiguration(json)
            if configuration.domain.rawValue != id { try json.report("id", .invalid("must be \(id)")) }
            return configuration
        } swap: {
            live.replace(with: parts.configuration(DomainConfigurations($0.values)))
        }
    }
}

extension DocumentType {
    /// A kind with one document.
    fileprivate static func single<Value: JSONReadable & Sendable>(
        _ kind: DocumentKind, shipped: JSONValue, replacing live: LiveValue<Value>
    ) -> DocumentType {
        DocumentType(kind, shipped: [DocumentName.onlyID: shipped]) { (_, json) throws(JSONFinding) in
            try Value(json)
        } swap: { values in
            if let value = values[DocumentName.onlyID] { live.replace(with: value) }
        }
    }
}
