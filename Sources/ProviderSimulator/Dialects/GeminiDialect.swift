import Foundation
import JSON
import NIOCore
import NIOHTTP1

/// Gemini's `streamGenerateContent` as server-sent events, their lines ended by CRLF.
enum GeminiDialect: SimulatedDialect {
    static let contentType = "text/event-stream"
    private static let method = ":streamGenerateContent"

    static func matches(_ request: ReceivedRequest) -> Bool {
        prefix(of: request) != nil && request.path.hasSuffix(method)
    }

    /// Both versions of the interface are the same here.
    private static func prefix(of request: ReceivedRequest) -> String? {
        ["/v1beta/models/", "/v1/models/"].first { request.path.hasPrefix($0) }
    }

    static func key(_ headers: HTTPHeaders) -> String? { headers.first(name: "x-goog-api-key") }

    static func parse(_ request: ReceivedRequest, _ json: JSONValue) throws(DialectFault) -> ChatRequest {
        guard request.query["alt"] == "sse" else { throw .invalid("this simulator only streams server-sent events") }
        let model = String(request.path.dropFirst(prefix(of: request)?.count ?? 0).dropLast(method.count))
        var turns = texts(json["systemInstruction"]).map { ChatRequest.Turn(role: "system", text: $0) }
        for content in json["contents"]?.elements ?? [] {
            let role = content["role"]?.string ?? "user"
            guard ["user", "model"].contains(role) else { throw .invalid("Please use a valid role: user, model.") }
            turns.append(.init(role: role == "model" ? "assistant" : role, text: texts(content).joined(separator: "\n")))
        }
        guard turns.contains(where: { $0.role == "user" }) else { throw .invalid("contents is not specified") }
        var parsed = ChatRequest(model: model.removingPercentEncoding ?? model, turns: turns)
        parsed.maxTokens = json["generationConfig"]?["maxOutputTokens"]?.integer.map { Int($0) }
        return parsed
    }

    private static func texts(_ content: JSONValue?) -> [String] { (content?["parts"]?.elements ?? []).compactMap { $0["text"]?.string } }

    static func response(to fault: DialectFault) -> FixedResponse {
        // A wrong key is a bad request, as Google has it.
        let status = fault.status == 401 ? 400 : fault.status
        var error: [JSONMember] = [
            JSONMember("code", .count(status)), JSONMember("message", .string(fault.message)),
            JSONMember("status", .string(fault.code ?? name(of: status))),
        ]
        if fault.status == 401 {
            error.append(
                JSONMember(
                    "details",
                    [
                        [
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                            "domain": "googleapis.com",
                        ]
                    ]))
        }
        let body: JSONValue = ["error": .object(error)]
        return FixedResponse(status: status, headers: [("content-type", "application/json; charset=UTF-8")], body: body.bytes)
    }

    private static func name(of status: Int) -> String {
        switch status {
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        case 504: "DEADLINE_EXCEEDED"
        case 500...: "INTERNAL"
        default: "INVALID_ARGUMENT"
        }
    }

    static func encode(_ content: ResponsePlan.FrameContent, of answer: DialectAnswer, into buffer: inout ByteBuffer) {
        switch content {
        case .thinking(let text): write(parts: #"[{"text":\#(jsonString(text)),"thought":true}]"#, of: answer, into: &buffer)
        case .token(let text): write(parts: #"[{"text":\#(jsonString(text))}]"#, of: answer, into: &buffer)
        case .finish(let reason):
            write(parts: #"[{"text":""}]"#, finish: finishReason(reason), of: answer, into: &buffer)
        case .error(let error): buffer.writeEvent(nil, Self.error(error), lineEnd: "\r\n")
        case .bareError(let error): buffer.writeString(Self.error(error) + "\r\n")
        case .comment(let text): buffer.writeString(": \(text)\r\n\r\n")
        case .opening, .usage, .done, .whole: break
        }
    }

    private static func write(parts: String, finish: String? = nil, of answer: DialectAnswer, into buffer: inout ByteBuffer) {
        let usage = answer.usage
        let output = finish == nil ? "" : #","candidatesTokenCount":\#(usage.completion - usage.reasoning)"#
        let thoughts = usage.reasoning > 0 ? #","thoughtsTokenCount":\#(usage.reasoning)"# : ""
        let cached = usage.cached > 0 ? #","cachedContentTokenCount":\#(usage.cached)"# : ""
        let counts =
            answer.reportsUsage
            ? #","usageMetadata":{"promptTokenCount":\#(usage.prompt)\#(cached)\#(output)\#(thoughts),"#
                + #""totalTokenCount":\#(usage.prompt + usage.completion)}"# : ""
        let reason = finish.map { #","finishReason":"\#($0)""# } ?? ""
        buffer.writeEvent(
            nil,
            #"{"candidates":[{"content":{"parts":\#(parts),"role":"model"}\#(reason),"index":0}]\#(counts),"#
                + #""modelVersion":\#(jsonString(answer.model)),"responseId":"\#(answer.id)"}"#, lineEnd: "\r\n")
    }

    private static func error(_ error: Script.ErrorBody) -> String {
        #"{"error":{"code":503,"message":\#(jsonString(error.message ?? "The model is overloaded.")),"#
            + #""status":\#(jsonString(error.code ?? error.type ?? "UNAVAILABLE"))}}"#
    }

    private static func finishReason(_ reason: String) -> String {
        switch reason {
        case "stop": "STOP"
        case "length": "MAX_TOKENS"
        case "content_filter": "SAFETY"
        default: reason
        }
    }
}
