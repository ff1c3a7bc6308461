extension Folder {
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
