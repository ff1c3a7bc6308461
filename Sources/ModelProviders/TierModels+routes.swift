import CoachCore
import Synchronization
import TokenRelay

extension TierModels {
    /// Makes the ports of all routes, and of the parts of them that tiers allow. Turns that may use the same models share one.
    ///
    /// The first route with a model that the tier allows is used: that of the persona, the domain, the tier, or the default one. When none has such a model,
    /// the first of these routes is used with all its models, so that users are answered; `unusable` has a warning.
    /// - Parameter report: called on the transfers' thread; must not block.
    public static func routes(
        configuration: ModelConfiguration, keys: ProviderKeys, transfers: TransferClient,
        report: @escaping @Sendable (ProviderEvent) -> Void = { _ in }
    ) -> TierModels {
        let health = transfers.bind(ProviderHealth(report: report))
        let make = { @Sendable (route: Route) in
            makeLanguageModel(configuration: configuration, route: route, keys: keys, transfers: transfers, health: health)
        }
        let routes = Dictionary(
            configuration.routes.compactMap { name, route in RouteKey(name).map { ($0, NamedRoute(name: name, route: route)) } }
        ) { $1 }
        let made = Mutex<[ModelPart: LanguageModel]>([:])
        return TierModels(callLimit: configuration.limits.turn) { tier, domain, persona in
            let keys: [RouteKey?] = [persona.map { .persona($0) }, domain.map { .domain($0) }, .tier(tier.name)]
            let candidates = keys.compactMap { $0.flatMap { routes[$0] } } + [NamedRoute(name: nil, route: configuration.defaultRoute)]
            let chosen = candidates.lazy.compactMap { $0.part(of: tier.models) }.first ?? candidates[0].whole
            return made.withLock { made in
                if let known = made[chosen.part] { return known }
                let model = make(chosen.route)
                made[chosen.part] = model
                return model
            }
        }
    }

    /// A line for each tier and each route in which the tier may use no model.
    public static func unusable(_ tiers: TierBook, in configuration: ModelConfiguration) -> [String] {
        tiers.tiers.flatMap { tier -> [String] in
            guard let models = tier.models else { return [] }
            var routes = [(name: "the default route", key: RouteKey.standard, route: configuration.defaultRoute)]
            for (name, route) in configuration.routes.sorted(by: { $0.key < $1.key }) {
                guard let key = RouteKey(name) else { continue }
                switch key {
                case .persona, .domain, .tier(tier.name): routes.append((name, key, route))
                case .tier, .standard, .judge: break
                }
            }
            // All turns of the tier can use these routes; those of a persona or domain serve some of the turns only.
            let ownRoutes = routes.filter { $0.key == .standard || $0.key == .tier(tier.name) }
            let hasFallback = ownRoutes.contains { $0.route.part(of: models) != nil }
            let instead = hasFallback ? "it gets those of another route" : "it gets all of them"
            return routes.filter { $0.route.part(of: models) == nil }
                .map { "tiers: \(tier.name): none of its models can be used in \($0.name), so \(instead)" }
        }
    }

    /// A line for each route that no turn can use, as when the name of its tier is misspelt or `judge` is not set.
    public static func unused(_ tiers: TierBook, in configuration: ModelConfiguration) -> [String] {
        configuration.routes.sorted { $0.key < $1.key }.compactMap { name, route -> String? in
            guard route != configuration.judge?.route else { return nil }
            switch RouteKey(name) {
            case .tier(let tier) where !tiers.tiers.contains(where: { $0.name == tier }):
                return "models: routes.\(name) is not used: no tier has this name"
            case .judge: return "models: routes.judge is not used: judge does not name it"
            default: return nil
            }
        }
    }
}

/// The part of a route that a tier allows.
private struct ModelPart: Hashable {
    /// nil: the default one.
    var route: String?
    /// nil: all.
    var models: [String]?
}

private struct NamedRoute {
    /// nil: the default one.
    var name: String?
    var route: Route

    var whole: (part: ModelPart, route: Route) { (ModelPart(route: name, models: nil), route) }

    /// nil when none of the models is in the route; the whole route when all are allowed.
    func part(of models: [String]?) -> (part: ModelPart, route: Route)? {
        guard let models else { return whole }
        return route.part(of: models).map { (ModelPart(route: name, models: models), $0) }
    }
}

extension Route {
    /// The choices of these models, in the route's order; nil when there is none.
    fileprivate func part(of models: [String]) -> Route? {
        let allowed = choices.filter { models.contains($0.name.model) }
        return allowed.first.map { Route($0, Array(allowed.dropFirst()), isHedged: isHedged) }
    }
}
