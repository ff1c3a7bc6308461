import BinaryFormats
import Foundation
import JSON
import NIOCore
import NIOHTTP1

/// AWS Bedrock's `converse-stream`. The signature of a request is not verified, only that it is one.
enum BedrockDialect: SimulatedDialect {
    static let contentType = "application/vnd.amazon.eventstream"

    static func matches(_ request: ReceivedRequest) -> Bool {
        request.path.hasPrefix("/model/") && request.path.hasSuffix("/converse-stream")
    }

    /// A Bedrock API key, or the id of the access key that signed.
    static func key(_ headers: HTTPHeaders) -> String? {
        if let token = headers.bearerToken { return token }
        guard let authorization = headers.first(name: "authorization") else { return nil }
        let credential = authorization.firstRange(of: "Credential=").map { authorization[$0.upperBound...] }
        guard authorization.hasPrefix("AWS4-HMAC-SHA256 "), let scope = credential?.prefix(while: { $0 != "," }).split(separator: "/"),
            scope.count == 5, scope[3] == "bedrock", authorization.contains("Signature="), headers.first(name: "x-amz-date") != nil
        else { return nil }
        return String(scope[0])
    }

    static func parse(_ request: ReceivedRequest, _ json: JSONValue) throws(DialectFault) -> ChatRequest {
        let name = request.path.dropFirst("/model/".count).dropLast("/converse-stream".count)
        guard let model = String(name).removingPercentEncoding else { throw .invalid("malformed model id") }
        var turns: [ChatRequest.Turn] = []
        for block in json["system"]?.elements ?? [] {
            if let text = block["text"]?.string { turns.append(.init(role: "system", text: text)) }
            if isCachePoint(block), !turns.isEmpty { turns[turns.count - 1].isCacheMark = true }
        }
        var last: String?
        for message in json["messages"]?.elements ?? [] {
            guard let role = message["role"]?.string, ["user", "assistant"].contains(role) else { throw .invalid("unknown role") }
            guard role != last else { throw .invalid("A conversation must alternate between user and assistant roles.") }
            last = role
            let blocks = message["content"]?.elements ?? []
            turns.append(
                .init(
                    role: role, text: blocks.compactMap { $0["text"]?.string }.joined(separator: "\n"),
                    isCacheMark: blocks.last.map(isCachePoint) ?? false))
        }
        guard last != nil else { throw .invalid("A conversation must start with a user message.") }
        var parsed = ChatRequest(model: model, turns: turns)
        parsed.maxTokens = json["inferenceConfig"]?["maxTokens"]?.integer.map { Int($0) }
        parsed.hasCacheMarks = turns.contains(where: \.isCacheMark)
        return parsed
    }

    private static func isCachePoint(_ block: JSONValue) -> Bool { block["cachePoint"]?["type"] == "default" }

    static func response(to fault: DialectFault) -> FixedResponse {
        // Bedrock has no 401: a wrong key is a 403, too.
        let (status, code) = fault.status == 401 ? (403, "UnrecognizedClientException") : (fault.status, name(of: fault.status))
        let body: JSONValue = ["message": .string(fault.message)]
        return FixedResponse(
            status: status, headers: [("content-type", "application/json"), ("x-amzn-errortype", fault.code ?? code)],
            body: body.bytes)
    }

    private static func name(of status: Int) -> String {
        switch status {
        case 403: "AccessDeniedException"
        case 404: "ResourceNotFoundException"
        case 408: "ModelTimeoutException"
        case 424: "ModelErrorException"
        case 429: "ThrottlingException"
        case 503: "ServiceUnavailableException"
        case 500...: "InternalServerException"
        default: "ValidationException"
        }
    }

    static func encode(_ content: ResponsePlan.FrameContent, of answer: DialectAnswer, into buffer: inout ByteBuffer) {
        let index = answer.thinking == nil ? 0 : 1
        switch content {
        case .opening: write("messageStart", #"{"role":"assistant"}"#, into: &buffer)
        case .thinking(let text):
            write(
                "contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":\#(jsonString(text))}}}"#, into: &buffer)
            write("contentBlockStop", #"{"contentBlockIndex":0}"#, into: &buffer)
        case .token(let text):
            write("contentBlockDelta", #"{"contentBlockIndex":\#(index),"delta":{"text":\#(jsonString(text))}}"#, into: &buffer)
        case .finish(let reason):
            write("contentBlockStop", #"{"contentBlockIndex":\#(index)}"#, into: &buffer)
            write("messageStop", #"{"stopReason":\#(jsonString(stopReason(reason)))}"#, into: &buffer)
        case .usage(let usage):
            // What the cache gave or took is not part of `inputTokens`.
            let input = usage.prompt - usage.cached - usage.cacheWrite
            write(
                "metadata",
                #"{"metrics":{"latencyMs":1},"usage":{"inputTokens":\#(input),"outputTokens":\#(usage.completion),"#
                    + #""totalTokens":\#(usage.prompt + usage.completion),"cacheReadInputTokens":\#(usage.cached),"#
                    + #""cacheWriteInputTokens":\#(usage.cacheWrite)}}"#, into: &buffer)
        case .error(let error), .bareError(let error):
            let headers = [
                (":exception-type", error.code ?? error.type ?? "throttlingException"), (":content-type", "application/json"),
                (":message-type", "exception"),
            ]
            let payload = #"{"message":\#(jsonString(error.message ?? "Too many requests"))}"#
            buffer.writeBytes(AmazonEvent(headers: headers, payload: Array(payload.utf8)).bytes)
        case .comment, .done, .whole: break
        }
    }

    private static func write(_ type: String, _ json: String, into buffer: inout ByteBuffer) {
        let headers = [(":event-type", type), (":content-type", "application/json"), (":message-type", "event")]
        buffer.writeBytes(AmazonEvent(headers: headers, payload: Array(json.utf8)).bytes)
    }

    private static func stopReason(_ reason: String) -> String {
        switch reason {
        case "stop": "end_turn"
        case "length": "max_tokens"
        case "content_filter": "content_filtered"
        default: reason
        }
    }
}
