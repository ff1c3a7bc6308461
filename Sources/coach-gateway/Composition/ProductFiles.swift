import CoachCore
import CoachStore
import Foundation
import GatewayServer
import ModelProviders

/// Everything that the product reads from its folders at start: coaching, models, prices, limits.
struct ProductFiles {
    var coaching: Coaching
    var models: ModelConfiguration
    var prices: PriceBook
    var limits: TurnLimits

    /// All or nothing; `findings` has a line for each thing that is wrong, in any file.
    static func load(root: URL, environment: [String: String]) -> (files: ProductFiles?, findings: [String]) {
        func bytes(_ path: String) -> Data { FileManager.default.contents(atPath: root.appendingPathComponent(path).path) ?? Data() }
        let (coaching, coachingFindings) = CoachingFiles(root: root).load()
        let (models, modelFindings) = ModelConfiguration.read(bytes("deploy/models.json"), environment: environment)
        let (prices, priceFindings) = PriceBook.read(bytes("deploy/prices.json"))
        let (limits, limitFindings) = LimitsFile.read(Array(bytes("deploy/limits.json")))
        let findings = coachingFindings + modelFindings + priceFindings + limitFindings
        guard findings.isEmpty, let coaching, let models, let prices, let limits else { return (nil, findings) }
        return (ProductFiles(coaching: coaching, models: models, prices: prices, limits: limits), [])
    }
}
