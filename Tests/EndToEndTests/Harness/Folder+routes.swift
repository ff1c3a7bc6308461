import CoachCore

extension Folder {
    /// A copy of the product's folders with a route for each domain: models `sim-NAME` of providers `NAME-DOMAIN`, all of them one simulator. So the failures
    /// of one domain's providers change nothing in another domain.
    static func routingByDomain(_ names: [String], through simulator: Simulator) throws -> Folder {
        let root = try copyOfRoot()
        let provider = ["dialect": "openai", "base_url": simulator.url, "api_key_env": "KEY"]
        let routes = Domain.allCases.map { domain -> (String, [[String: Any]]) in
            let choices = names.map { name in
                ["provider": "\(name)-\(domain.rawValue)", "model": "sim-\(name)", "max_output_tokens": 1024] as [String: Any]
            }
            return ("domain.\(domain.rawValue)", choices)
        }
        try root.edit("deploy/models.json") { file in
            let providers = routes.flatMap { _, choices in choices.compactMap { $0["provider"] as? String } }
            file["providers"] = Dictionary(uniqueKeysWithValues: providers.map { ($0, provider) })
            file["routes"] = Dictionary(uniqueKeysWithValues: routes + [("default", routes[0].1)])
        }
        return root
    }

    /// A copy of the product's folders whose default route is these models of one simulator. `hedged`: the route is; `members` are added to each choice.
    static func routing(_ models: [String], through simulator: Simulator, hedged: Bool = false, _ members: [String: Any] = [:]) throws
        -> Folder
    {
        let root = try copyOfRoot()
        try root.edit("deploy/models.json") { file in
            file["providers"] = ["simulator": ["dialect": "openai", "base_url": simulator.url, "api_key_env": "KEY"]]
            file["routes"] = [
                "default": models.map { model in
                    members.merging(["provider": "simulator", "model": model, "max_output_tokens": 1024]) { $1 }
                }
            ]
            if hedged { file["hedged_routes"] = ["default"] }
        }
        return root
    }

    /// The environment of a gateway with these files.
    var environment: [String: String] { ["COACH_ROOT": path, "KEY": "any"] }
}
