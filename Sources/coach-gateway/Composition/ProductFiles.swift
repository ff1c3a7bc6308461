import ChatAPI
import CoachCore
import CoachStore
import Foundation
import GatewayAPI
import JSON
import ModelProviders

/// Everything that the product reads from its folders at start: coaching, models, prices, tiers.
struct ProductFiles {
    var coachingParts: CoachingParts
    var models: ModelConfiguration
    var prices: Document<PriceBook>
    var tiers: Document<TierBook>
    var alertRules: Document<AlertRules>
    /// Findings of the coaching files that do not keep a gateway from serving.
    var coachingWarnings: [String]

    /// A file of which operators edit later versions: its content, and that as JSON.
    struct Document<Value: Sendable>: Sendable {
        let value: Value
        let body: JSONValue
    }

    /// All or nothing; `findings` has a line for each thing that is wrong, in any file.
    static func load(root: URL, environment: [String: String]) -> (files: ProductFiles?, findings: [String]) {
        let (coachingParts, coachingFindings, coachingWarnings) = CoachingFiles(root: root).load()
        var findings = coachingFindings
        func parse<Value>(_ path: String, _ parse: ([UInt8]) -> (Value?, [String])) -> Value? {
            let (bytes, unreadable) = ProductFolder(root: root).read(path)
            findings += unreadable
            guard let bytes else { return nil }
            let (value, wrong) = parse(bytes)
            findings += wrong
            return value
        }
        func document<Value: Sendable>(_ path: String, _ read: ([UInt8]) -> (Value?, [String])) -> Document<Value>? {
            parse(path) { bytes in
                let (value, wrong) = read(bytes)
                return (value.map { Document(value: $0, body: (try? JSONValue(parsing: bytes)) ?? .null) }, wrong)
            }
        }
        let models = parse("deploy/models.json") { ModelConfiguration.read($0, environment: environment) }
        let prices = document("deploy/prices.json") { PriceBook.read($0) }
        let tiers = document("deploy/tiers.json") { TierBook.read($0) }
        let alertRules = document("deploy/alert-rules.json") { AlertRules.read($0) }
        guard findings.isEmpty, let coachingParts, let models, let prices, let tiers, let alertRules else { return (nil, findings) }
        let files = ProductFiles(
            coachingParts: coachingParts, models: models, prices: prices, tiers: tiers, alertRules: alertRules,
            coachingWarnings: coachingWarnings)
        return (files, [])
    }

    /// What does not keep a gateway from serving and should not stay so: no crisis model, models whose turns would have no cost, crisis
    /// resources last verified over a year ago, providers without their keys, tiers without their models, routes without their tiers, reserves that a
    /// turn may exceed.
    /// `prices` and `tiers` are those in force, which operators may have edited.
    func warnings(prices: PriceBook, tiers: TierBook, today: CalendarDay = CalendarDay(containing: Date())) -> [String] {
        let names = models.routes.values.flatMap(\.choices).map(\.name)
        var seen: Set<ModelName> = []
        let unpriced = names.filter { seen.insert($0).inserted && prices.price(of: $0, on: today) == nil }
            .map { "prices: no price for \($0.provider) \($0.model): its turns would be recorded without a cost" }.sorted()
        let outdated = coachingParts.resources.outdated(on: today).map { "domains/safety/resources.json: \($0)" }
        let underreserved = TierModels.underreserved(tiers, at: prices, in: models, on: today).map { name, cost in
            "tiers: usd_reserved_per_turn is less than a turn of \(name.provider) \(name.model) can cost "
                + "(\(MoneyText.format(nanodollars: cost.raw))): turns that run at the same time may exceed a budget"
        }
        return coachingWarnings + models.warnings + unpriced + outdated + TierModels.unusable(tiers, in: models)
            + TierModels.unused(tiers, in: models) + underreserved
    }
}
