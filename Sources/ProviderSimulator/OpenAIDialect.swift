import Foundation
import JSON

/// The simulated routes of OpenAI's API: models and chat completions.
struct OpenAIDialect: Sendable {
    private let key: String?
    private let scriptQueue: ScriptQueue
    private let journal: Journal
    /// A random seed that makes the ids of two runs of the simulator differ.
    private let idSeed = UInt64.random(in: .min ... .max)
    private let created = Int(Date().timeIntervalSince1970)

    init(key: String?, scriptQueue: ScriptQueue, journal: Journal) {
        self.key = key
        self.scriptQueue = scriptQueue
        self.journal = journal
    }

    /// The response; nil for a path that does not belong to this dialect.
    func reply(to request: ReceivedRequest) -> Reply? {
        if AzurePath(request.path) != nil, request.method == "POST" { return complete(request) }
        guard request.path == "/v1" || request.path.hasPrefix("/v1/") else { return nil }
        if request.path == "/v1/chat/completions", request.method == "POST" { return complete(request) }
        do throws(OpenAIFault) {
            try authorize(request)
            return try models(request)
        } catch {
            return .fixed(errorResponse(for: error, headers: headers(sequence: 0, processingMs: 1)))
        }
    }

    // MARK: Chat completions

    private func complete(_ incoming: ReceivedRequest) -> Reply {
        let parsed = Result { () throws(OpenAIFault) -> (request: ChatRequest, json: JSONValue) in
            try authorize(incoming)
            return try OpenAIRequest.parse(incoming.body, deployment: AzurePath(incoming.path)?.deployment)
        }
        let exchange = journal.begin(Self.description(of: incoming, json: try? parsed.get().json))
        do throws(OpenAIFault) {
            let request = try parsed.get().request
            let script = try script(for: request, incoming)
            let isAzure = AzurePath(incoming.path) != nil
            return .scripted(scriptedResponse(of: script, for: request, isAzure: isAzure, exchange: exchange))
        } catch {
            let response = errorResponse(for: error, headers: headers(sequence: exchange.sequence, processingMs: 2))
            return .scripted(.rejected(response, exchange: exchange))
        }
    }

    private func script(for request: ChatRequest, _ incoming: ReceivedRequest) throws(OpenAIFault) -> Script {
        guard Self.isKnown(request.model) else { throw .unknownModel(request.model) }
        do {
            return try scriptQueue.script(header: incoming.headers.first(name: "x-simulator-script"), for: request)
        } catch {
            throw .invalid("simulator: \(error)", param: "script", code: "invalid_script")
        }
    }

    private func scriptedResponse(
        of script: Script, for request: ChatRequest, isAzure: Bool, exchange: Exchange
    ) -> ScriptedResponse {
        var headers = headers(sequence: exchange.sequence, processingMs: Int(script.firstTokenMs ?? 150))
        if let scripted = script.answeredError {
            headers += scripted.retryHeaders
            var response = errorResponse(for: OpenAIFault(scripted, model: request.model), headers: headers)
            if let body = scripted.body {
                response.body = Array(body.utf8)
                response.headers.set("content-type", "text/html; charset=utf-8")
            }
            response.headers.set(script.headers)
            return .failed(response, script: script, exchange: exchange)
        }
        headers.set("content-type", request.isStreamed ? "text/event-stream; charset=utf-8" : "application/json")
        headers.set(script.headers)
        let isFailure = script.errorAfterTokens != nil
        let encoder = OpenAIResponseEncoder(
            id: "chatcmpl-" + identifier(exchange.sequence, length: 29), created: Int(exchange.received.timeIntervalSince1970),
            request: request, reportsUsage: script.noUsage != true && (request.includesUsage || !request.isStreamed),
            isAzure: isAzure, status: isFailure && !request.isStreamed ? 500 : 200, headers: headers)
        return ScriptedResponse(
            frames: ResponsePlan(script: script, request: request).frames, encoder: encoder, chunkBytes: script.writeLimit,
            exchange: exchange, outcome: isFailure ? .failed : .finished)
    }

    private static func description(of incoming: ReceivedRequest, json: JSONValue?) -> [JSONMember] {
        Journal.description(
            of: incoming, model: json?["model"] ?? .null, messages: json?["messages"] ?? .null, isStreamed: json?["stream"] ?? false,
            parameters: json?.members?.filter { $0.key != "messages" } ?? [])
    }

    // MARK: Models

    private static let listed = ["sim-coach-1", "sim-coach-mini"]

    private static func isKnown(_ model: String) -> Bool { model.hasPrefix("sim-") }

    private func models(_ request: ReceivedRequest) throws(OpenAIFault) -> Reply {
        let prefix = "/v1/models"
        guard request.path == prefix || request.path.hasPrefix(prefix + "/") else {
            guard request.path != "/v1/chat/completions" else { throw .wrongMethod(method: request.method, path: request.path) }
            throw .unknownRoute(method: request.method, path: request.path)
        }
        guard request.method == "GET" else { throw .wrongMethod(method: request.method, path: request.path) }
        let body: JSONValue
        if request.path == prefix {
            body = ["object": "list", "data": .array(Self.listed.map(model))]
        } else {
            let raw = String(request.path.dropFirst(prefix.count + 1))
            let id = raw.removingPercentEncoding ?? raw
            guard Self.isKnown(id) else { throw .unknownModel(id) }
            body = model(id)
        }
        var headers = headers(sequence: 0, processingMs: 1)
        headers.set("content-type", "application/json")
        return .fixed(FixedResponse(status: 200, headers: headers, body: body.bytes))
    }

    private func model(_ id: String) -> JSONValue {
        ["id": .string(id), "object": "model", "created": .count(created), "owned_by": "simulator"]
    }

    // MARK: Common

    private func authorize(_ request: ReceivedRequest) throws(OpenAIFault) {
        if AzurePath(request.path) != nil, let azureKey = request.headers.first(name: "api-key") {
            guard key == nil || key == azureKey else { throw .wrongKey(azureKey) }
            return
        }
        let words = request.headers.first(name: "authorization")?.split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2, words[0].lowercased() == "bearer" else { throw .missingKey }
        guard key == nil || key == String(words[1]) else { throw .wrongKey(String(words[1])) }
    }

    private func errorResponse(for fault: OpenAIFault, headers: [(name: String, value: String)]) -> FixedResponse {
        var headers = headers
        headers.set("content-type", "application/json")
        if fault.code == "rate_limit_exceeded" { headers.set("x-ratelimit-remaining-requests", "0") }
        return FixedResponse(status: fault.status, headers: headers, body: fault.body)
    }

    private func headers(sequence: Int, processingMs: Int) -> [(name: String, value: String)] {
        let limits = (requests: 10_000, tokens: 2_000_000)
        let running = journal.stats.running
        return [
            ("openai-organization", "simulator"), ("openai-version", "2020-10-01"), ("openai-processing-ms", "\(processingMs)"),
            (
                "x-request-id",
                "req_" + identifier(sequence == 0 ? Int.random(in: .min..<0) : sequence, length: 32, alphabet: "0123456789abcdef")
            ),
            ("x-ratelimit-limit-requests", "\(limits.requests)"), ("x-ratelimit-limit-tokens", "\(limits.tokens)"),
            ("x-ratelimit-remaining-requests", "\(max(0, limits.requests - running))"),
            ("x-ratelimit-remaining-tokens", "\(max(0, limits.tokens - running * 1_000))"),
            ("x-ratelimit-reset-requests", "6ms"), ("x-ratelimit-reset-tokens", "1ms"),
        ]
    }

    private func identifier(
        _ sequence: Int, length: Int, alphabet: String = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    ) -> String {
        var random = SeededRandom(seed: idSeed ^ (UInt64(bitPattern: Int64(sequence)) &* 0x9E37_79B9))
        let characters = Array(alphabet)
        return String((0..<length).map { _ in characters[Int.random(in: characters.indices, using: &random)] })
    }
}

extension [(name: String, value: String)] {
    mutating func set(_ name: String, _ value: String) {
        removeAll { $0.name == name }
        append((name, value))
    }

    mutating func set(_ headers: [String: String]?) {
        for (name, value) in (headers ?? [:]).sorted(by: { $0.key < $1.key }) { set(name.lowercased(), value) }
    }
}
