import CoachCore
import Synchronization
import TokenRelay

extension TierModels {
    /// Makes the ports of all routes, and of the parts of them that tiers allow. Turns that may use the same models share one. A tier of whose
    /// models none can be used gets the whole route: `unusable` has a warning.
    /// - Parameter report: called on the transfers' thread; must not block.
    public static func routes(
        configuration: ModelConfiguration, keys: ProviderKeys, transfers: TransferPool,
        report: @escaping @Sendable (ProviderEvent) -> Void = { _ in }
    ) -> TierModels {
        let health = transfers.bind(ProviderHealth(report: report))
        let make = { @Sendable (route: Route) in
            makeLanguageModel(configuration: configuration, route: route, keys: keys, transfers: transfers, health: health)
        }
        let standard = make(configuration.defaultRoute)
        let routes = Dictionary(
            configuration.routes.compactMap { name, route in RouteKey(name).map { ($0, (name: name, route: route)) } }
        ) { $1 }
        let made = Mutex<[ModelPart: LanguageModel]>([ModelPart(route: nil, models: nil): standard])
        return TierModels(standard: standard) { tier, domain, persona in
            let keys: [RouteKey?] = [persona.map { .persona($0) }, domain.map { .domain($0) }, .tier(tier.name)]
            let chosen = keys.lazy.compactMap { $0.flatMap { routes[$0] } }.first
            let part = ModelPart(route: chosen?.name, models: tier.models)
            return made.withLock { made in
                if let known = made[part] { return known }
                let whole = chosen?.route ?? configuration.defaultRoute
                let model = make(tier.models.flatMap { whole.part(of: $0) } ?? whole)
                made[part] = model
                return model
            }
        }
    }

    /// A line for each tier of whose models none can be used.
    public static func unusable(_ tiers: TierBook, in configuration: ModelConfiguration) -> [String] {
        tiers.tiers.filter { $0.models.map { configuration.defaultRoute.part(of: $0) == nil } ?? false }
            .map { "tiers: \($0.name): none of its models can be used in the default route, so it gets all of them" }
    }
}

/// The part of a route that a tier allows.
private struct ModelPart: Hashable {
    /// nil: the default one.
    var route: String?
    /// nil: all.
    var models: [String]?
}

extension Route {
    /// The choices of these models, in the route's order; nil when there is none.
    fileprivate func part(of models: [String]) -> Route? {
        let allowed = choices.filter { models.contains($0.name.model) }
        return allowed.first.map { Route($0, Array(allowed.dropFirst()), isHedged: isHedged) }
    }
}
