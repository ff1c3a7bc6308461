import JSON

/// The control API below `/simulator/`: sets scripts for coming requests and returns the journal of past ones.
struct ControlRoutes: Sendable {
    let scriptQueue: ScriptQueue
    let journal: Journal

    /// The response; nil for a path that is not below `/simulator/`.
    func reply(to request: ReceivedRequest) -> Reply? {
        do {
            switch (request.method, request.path) {
            case ("PUT", "/simulator/script"):
                scriptQueue.defaultScript = try Script(json: request.body)
                return defaultScriptReply
            case ("GET", "/simulator/script"):
                return defaultScriptReply
            case ("DELETE", "/simulator/script"):
                scriptQueue.defaultScript = nil
                return defaultScriptReply
            case ("POST", "/simulator/scripts"):
                try scriptQueue.enqueue(scripts(in: request.body))
                return queueReply
            case ("GET", "/simulator/scripts"):
                return queueReply
            case ("DELETE", "/simulator/scripts"):
                scriptQueue.clearQueue()
                return queueReply
            case ("GET", "/simulator/requests"):
                let after = request.query["after"].flatMap { Int($0) } ?? 0
                let exchanges = journal.exchanges(after: after)
                return .json(["requests": .array(exchanges.map(\.json)), "next": .count(exchanges.last?.sequence ?? after)])
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

    private var defaultScriptReply: Reply { .json(["script": scriptQueue.defaultScript?.value ?? .null]) }

    private var queueReply: Reply { .json(["waiting": .array(scriptQueue.queued.map(\.value))]) }

    /// Parses one script, or an array of scripts for the coming requests in their order.
    private func scripts(in body: [UInt8]) throws(ScriptError) -> [Script] {
        guard let value = try? JSONValue(parsing: body) else { throw ScriptError(description: "the body is not JSON") }
        var scripts: [Script] = []
        for item in value.elements ?? [value] { scripts.append(try Script(item)) }
        return scripts
    }
}
