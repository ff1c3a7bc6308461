/// `/simulator/*`: scripts for coming requests, and what was seen of past ones.
struct ControlRoutes: Sendable {
    let desk: ScriptDesk
    let journal: Journal

    /// Nil for a path that is not under `/simulator/`.
    func reply(to request: Incoming) -> Reply? {
        do {
            switch (request.method, request.path) {
            case ("PUT", "/simulator/script"):
                desk.standing = try Script(json: request.body)
                return standing
            case ("GET", "/simulator/script"):
                return standing
            case ("DELETE", "/simulator/script"):
                desk.standing = nil
                return standing
            case ("POST", "/simulator/scripts"):
                try desk.enqueue(scripts(in: request.body))
                return waiting
            case ("GET", "/simulator/scripts"):
                return waiting
            case ("DELETE", "/simulator/scripts"):
                desk.clearQueue()
                return waiting
            case ("GET", "/simulator/requests"):
                let after = request.query["after"].flatMap { Int($0) } ?? 0
                let exchanges = journal.exchanges(after: after)
                return .json(["requests": .array(exchanges.map(\.json)), "next": .integer(exchanges.last?.sequence ?? after)])
            case ("GET", "/simulator/stats"):
                return .json(journal.stats.json)
            default:
                guard request.path.hasPrefix("/simulator/") else { return nil }
                return .json(["error": .string("the simulator has no \(request.method) \(request.path)")], status: 404)
            }
        } catch {
            return .json(["error": .string("\(error)")], status: 400)
        }
    }

    private var standing: Reply { .json(["script": desk.standing.map(json) ?? .null]) }

    private var waiting: Reply { .json(["waiting": .array(desk.waiting.map(json))]) }

    private func json(_ script: Script) -> JSONValue { (try? JSONValue(parsing: script.json.utf8)) ?? .null }

    /// One script, or an array of them in the order of the requests they are for.
    private func scripts(in body: [UInt8]) throws(ScriptError) -> [Script] {
        guard let value = try? JSONValue(parsing: body) else { throw ScriptError(description: "the body is not JSON") }
        var scripts: [Script] = []
        for item in value.array ?? [value] { scripts.append(try Script(item)) }
        return scripts
    }
}
