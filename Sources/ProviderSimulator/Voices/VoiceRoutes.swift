import JSON

/// The simulated routes of all providers beside OpenAI's chat completions.
struct VoiceRoutes: Sendable {
    let key: String?
    let scriptQueue: ScriptQueue
    let journal: Journal

    /// The response; nil for a path that belongs to none of them.
    func reply(to request: ReceivedRequest) -> Reply? {
        guard request.method == "POST" else { return nil }
        return reply(to: request, AnthropicVoice.self) ?? reply(to: request, GeminiVoice.self) ?? reply(to: request, ResponsesVoice.self)
            ?? reply(to: request, BedrockVoice.self)
    }

    private func reply<V: Voice>(to incoming: ReceivedRequest, _ voice: V.Type) -> Reply? {
        guard V.matches(incoming) else { return nil }
        let json = try? JSONDocument(parsing: incoming.body).value
        let parsed = Result { () throws(VoiceFault) -> ChatRequest in
            guard let sent = V.key(incoming.headers), key == nil || key == sent else {
                throw VoiceFault(status: 401, message: "invalid API key")
            }
            guard let json, json.members != nil else { throw .invalid("The body is not JSON.") }
            var request = try V.parse(incoming, json)
            guard request.model.contains("sim-") else { throw VoiceFault(status: 404, message: "unknown model") }
            request.isStreamed = true
            request.includesUsage = true
            return request
        }
        let exchange = journal.begin(description(of: incoming, try? parsed.get(), json))
        do throws(VoiceFault) {
            return .scripted(try respond(to: try parsed.get(), incoming, exchange, voice))
        } catch {
            return .scripted(
                ScriptedResponse(
                    frames: FixedResponse.frames(after: 0), encoder: V.response(to: error), chunkBytes: nil, exchange: exchange,
                    outcome: .rejected))
        }
    }

    private func respond<V: Voice>(
        to request: ChatRequest, _ incoming: ReceivedRequest, _ exchange: Exchange, _ voice: V.Type
    ) throws(VoiceFault) -> ScriptedResponse {
        let script: Script
        do {
            script = try scriptQueue.script(header: incoming.headers.first(name: "x-simulator-script"), for: request)
        } catch {
            throw .invalid("simulator: \(error)")
        }
        let chunkBytes = script.bytewise == true ? 1 : script.chunkBytes
        if let scripted = script.httpError, script.hang != true, script.drop != true {
            var response = V.response(
                to: VoiceFault(
                    status: scripted.status, code: scripted.type ?? scripted.code, message: scripted.message ?? "as the script has it"))
            response.headers += OpenAIDialect.retryHeaders(scripted)
            if let body = scripted.body { response.body = Array(body.utf8) }
            response.headers.set(script.headers)
            return ScriptedResponse(
                frames: FixedResponse.frames(after: script.firstTokenMs ?? 0), encoder: response, chunkBytes: chunkBytes,
                exchange: exchange,
                outcome: .failed)
        }
        let plan = ResponsePlan(script: script, request: request)
        var headers: [(name: String, value: String)] = [("content-type", V.contentType)]
        headers.set(script.headers)
        let answer = VoiceAnswer(id: "sim\(exchange.sequence)", model: request.model, plan: plan, script: script)
        return ScriptedResponse(
            frames: plan.frames, encoder: VoiceEncoder<V>(headers: headers, answer: answer), chunkBytes: chunkBytes, exchange: exchange,
            outcome: script.errorAfterTokens == nil ? .finished : .failed)
    }

    private func description(of incoming: ReceivedRequest, _ request: ChatRequest?, _ json: JSONValue?) -> [JSONMember] {
        let messages = (request?.turns ?? []).map { ["role": .string($0.role), "content": .string($0.text)] as JSONValue }
        let prompt: Set<String> = ["messages", "system", "contents", "systemInstruction", "input"]
        return Journal.description(
            of: incoming, model: request.map { .string($0.model) } ?? .null, messages: .array(messages), isStreamed: true,
            parameters: json?.members?.filter { !prompt.contains($0.key) } ?? [])
    }
}
