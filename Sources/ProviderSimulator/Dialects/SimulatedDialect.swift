import JSON
import NIOCore
import NIOHTTP1
import Synchronization

/// How one provider beside OpenAI's chat completions is simulated: its addresses, requests, errors and streamed answers.
protocol SimulatedDialect: Sendable {
    /// Whether the address belongs to it.
    static func matches(_ request: ReceivedRequest) -> Bool
    /// The key that a request carries; nil when there is none.
    static func key(_ headers: HTTPHeaders) -> String?
    static func parse(_ request: ReceivedRequest, _ json: JSONValue) throws(DialectFault) -> ChatRequest
    static var contentType: String { get }
    /// The provider's own error response.
    static func response(to fault: DialectFault) -> FixedResponse
    static func encode(_ content: ResponsePlan.FrameContent, of answer: DialectAnswer, into buffer: inout ByteBuffer)
}

/// Why a request is refused.
struct DialectFault: Error {
    var status: Int
    /// nil: the provider's usual one for the status.
    var code: String?
    var message: String

    static func invalid(_ message: String) -> DialectFault { DialectFault(status: 400, message: message) }
}

/// What the frames of one answer have in common.
final class DialectAnswer: Sendable {
    let id: String
    let model: String
    let text: String
    let usage: TokenUsage
    let reportsUsage: Bool
    let thinking: String?
    private let next = Atomic<Int>(0)

    init(id: String, model: String, plan: ResponsePlan, script: Script) {
        self.id = id
        self.model = model
        text = plan.text
        usage = plan.usage
        reportsUsage = script.noUsage != true
        thinking = script.thinking
    }

    /// 0, 1, 2 …
    func nextNumber() -> Int { next.add(1, ordering: .relaxed).oldValue }
}

/// Encodes an answer in a dialect.
struct DialectEncoder<D: SimulatedDialect>: ResponseEncoder {
    var status = 200
    var headers: [(name: String, value: String)]
    var answer: DialectAnswer

    func encode(_ content: ResponsePlan.FrameContent, into buffer: inout ByteBuffer) {
        D.encode(content, of: answer, into: &buffer)
    }
}

extension ByteBuffer {
    /// A server-sent event.
    mutating func writeEvent(_ name: String? = nil, _ data: String, lineEnd: String = "\n") {
        if let name { writeString("event: \(name)\(lineEnd)") }
        writeString("data: \(data)\(lineEnd)\(lineEnd)")
    }
}

extension HTTPHeaders {
    var bearerToken: String? {
        first(name: "authorization").flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst("Bearer ".count)) : nil }
    }
}
