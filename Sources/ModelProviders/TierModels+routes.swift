import CoachCore
import Synchronization
import TokenRelay

extension TierModels {
    /// Makes the ports of the default route, and of the parts of it that tiers allow. Tiers that allow the same models share one. A tier of
    /// whose models none can be used gets the whole route: `unusable` has a warning.
    public static func routes(configuration: ModelConfiguration, keys: ProviderKeys, transfers: TransferPool) -> TierModels {
        let standard = makeLanguageModel(configuration: configuration, keys: keys, transfers: transfers)
        let parts = Mutex<[[String]: LanguageModel]>([:])
        return TierModels(standard: standard) { tier in
            guard let names = tier.models else { return standard }
            return parts.withLock { parts in
                if let known = parts[names] { return known }
                let route = configuration.defaultRoute.part(of: names)
                let model = route.map { makeLanguageModel(configuration: configuration, route: $0, keys: keys, transfers: transfers) }
                parts[names] = model ?? standard
                return model ?? standard
            }
        }
    }

    /// A line for each tier of whose models none can be used.
    public static func unusable(_ tiers: TierBook, in configuration: ModelConfiguration) -> [String] {
        tiers.tiers.filter { $0.models.map { configuration.defaultRoute.part(of: $0) == nil } ?? false }
            .map { "tiers: \($0.name): none of its models can be used in the default route, so it gets all of them" }
    }
}

extension Route {
    /// The choices of these models, in the route's order; nil when there is none.
    fileprivate func part(of models: [String]) -> Route? {
        let allowed = choices.filter { models.contains($0.name.model) }
        return allowed.first.map { Route($0, Array(allowed.dropFirst())) }
    }
}
