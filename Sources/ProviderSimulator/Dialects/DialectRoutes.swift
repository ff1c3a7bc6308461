import JSON

/// The simulated routes of all providers beside OpenAI's chat completions.
struct DialectRoutes: Sendable {
    let key: String?
    let scriptQueue: ScriptQueue
    let journal: Journal

    /// The response; nil for a path that belongs to none of them.
    func reply(to request: ReceivedRequest) -> Reply? {
        guard request.method == "POST" else { return nil }
        return reply(to: request, AnthropicDialect.self) ?? reply(to: request, GeminiDialect.self)
            ?? reply(to: request, ResponsesDialect.self) ?? reply(to: request, BedrockDialect.self)
    }

    private func reply<D: SimulatedDialect>(to incoming: ReceivedRequest, _ dialect: D.Type) -> Reply? {
        guard D.matches(incoming) else { return nil }
        let json = try? JSONDocument(parsing: incoming.body).value
        let parsed = Result { () throws(DialectFault) -> ChatRequest in
            guard let sent = D.key(incoming.headers), key == nil || key == sent else {
                throw DialectFault(status: 401, message: "invalid API key")
            }
            guard let json, json.members != nil else { throw .invalid("The body is not JSON.") }
            var request = try D.parse(incoming, json)
            guard request.model.contains("sim-") else { throw DialectFault(status: 404, message: "unknown model") }
            request.isStreamed = true
            request.includesUsage = true
            return request
        }
        let exchange = journal.begin(description(of: incoming, try? parsed.get(), json))
        do throws(DialectFault) {
            return .scripted(try respond(to: try parsed.get(), incoming, exchange, dialect))
        } catch {
            return .scripted(.rejected(D.response(to: error), exchange: exchange))
        }
    }

    private func respond<D: SimulatedDialect>(
        to request: ChatRequest, _ incoming: ReceivedRequest, _ exchange: Exchange, _ dialect: D.Type
    ) throws(DialectFault) -> ScriptedResponse {
        let script: Script
        do {
            script = try scriptQueue.script(header: incoming.headers.first(name: "x-simulator-script"), for: request)
        } catch {
            throw .invalid("simulator: \(error)")
        }
        if let scripted = script.answeredError {
            var response = D.response(
                to: DialectFault(
                    status: scripted.status, code: scripted.type ?? scripted.code, message: scripted.message ?? "as the script has it"))
            response.headers += scripted.retryHeaders
            if let body = scripted.body { response.body = Array(body.utf8) }
            response.headers.set(script.headers)
            return .failed(response, script: script, exchange: exchange)
        }
        let plan = ResponsePlan(script: script, request: request)
        var headers: [(name: String, value: String)] = [("content-type", D.contentType)]
        headers.set(script.headers)
        let answer = DialectAnswer(id: "sim\(exchange.sequence)", model: request.model, plan: plan, script: script)
        return ScriptedResponse(
            frames: plan.frames, encoder: DialectEncoder<D>(headers: headers, answer: answer), chunkBytes: script.writeLimit,
            exchange: exchange, outcome: script.errorAfterTokens == nil ? .finished : .failed)
    }

    private func description(of incoming: ReceivedRequest, _ request: ChatRequest?, _ json: JSONValue?) -> [JSONMember] {
        let messages = (request?.turns ?? []).map { ["role": .string($0.role), "content": .string($0.text)] as JSONValue }
        let prompt: Set<String> = ["messages", "system", "contents", "systemInstruction", "input"]
        return Journal.description(
            of: incoming, model: request.map { .string($0.model) } ?? .null, messages: .array(messages), isStreamed: true,
            parameters: json?.members?.filter { !prompt.contains($0.key) } ?? [])
    }
}
