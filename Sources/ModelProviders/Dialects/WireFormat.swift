import CoachCore
import JSON
import TokenRelay

/// What a dialect consists of. All functions are pure.
protocol WireFormat: Sendable {
    /// Its name in `deploy/models.json`.
    static var name: String { get }
    /// The path of a base address that has none: people type `http://127.0.0.1:11434`.
    static var basePath: String { get }
    /// How a request carries the key unless the provider's entry says otherwise.
    static var keyHeader: Provider.KeyHeader { get }
    /// Members that only this dialect has in a provider's entry; each may also name a variable of the environment (`NAME_env`).
    static var settings: [DialectSetting] { get }
    /// Reads what only this dialect has in a model's entry of a route.
    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue]
    /// Members of the body that `parameters` of a provider or model must not set, because `write` or `encode` do.
    static var reserved: Set<String> { get }
    /// Reserved members that a server may refuse and that are not needed: `null` in `parameters` leaves them out.
    static var omittable: Set<String> { get }
    /// Whether the member of the body that forbids the provider to keep prompts differs from server to server, so that the provider's entry must
    /// state it in `parameters`. Else the dialect sends it, or has none.
    static var needsStatedOptOut: Bool { get }
    /// Type of the streamed answer.
    static var mediaType: String { get }
    /// Header fields of each request, beside those common to all.
    static var headers: [TransferHeader] { get }

    /// The prompt's members of the body, without braces: the only part whose length grows with it.
    static func encode(_ prompt: Prompt) -> [UInt8]
    /// The same with marks for the provider's cache, where a model may refuse them.
    static func encodeWithCacheMarks(_ prompt: Prompt) -> [UInt8]
    /// Whether a model takes these marks.
    static func takesCacheMarks(_ model: String, options: [String: JSONValue]) -> Bool
    /// The other members of the body.
    static func write(_ call: DialectCall, to json: inout JSONWriter)
    /// The path below the base address, encoded, and the parameters of the URL.
    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)])
    /// Signs a request instead of sending the key with it. False: nothing was done.
    static func sign(_ request: inout TransferRequest, _ call: DialectCall, key: String?, at now: Timestamp) -> Bool

    /// The key that a provider's settings make, in place of one of its own; nil: none.
    static func key(in settings: [String: String]) -> String?
    /// Whether a key has a form that the dialect can send. Another one is a mistake, and never sent.
    static func isKey(_ key: String) -> Bool

    /// The text that names a model's family, on which the reading of its answers may depend: the model's own name, unless the entry states another.
    static func family(of model: String, options: [String: JSONValue]) -> String
    static func makeReader(model: String) -> any AnswerReader
    /// What an error response says.
    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError
}

extension WireFormat {
    static var basePath: String { "" }
    static var keyHeader: Provider.KeyHeader { .bearer }
    static var settings: [DialectSetting] { [] }
    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] { [:] }
    static var mediaType: String { "text/event-stream" }
    static func encodeWithCacheMarks(_ prompt: Prompt) -> [UInt8] { encode(prompt) }
    static func takesCacheMarks(_ model: String, options: [String: JSONValue]) -> Bool { false }
    static func family(of model: String, options: [String: JSONValue]) -> String { model }
    static var headers: [TransferHeader] { [] }
    static var omittable: Set<String> { [] }
    static func sign(_ request: inout TransferRequest, _ call: DialectCall, key: String?, at now: Timestamp) -> Bool { false }
    static func key(in settings: [String: String]) -> String? { nil }
    static func isKey(_ key: String) -> Bool { true }
    static var needsStatedOptOut: Bool { false }
}

/// A member of a provider's entry that one dialect has.
struct DialectSetting: Sendable {
    var name: String
    var isRequired = false
    /// A secret is only taken from the environment.
    var isSecret = false
}

/// What a request is written of, beside the prompt.
struct DialectCall: Sendable {
    var model: String
    var maximumOutputTokens: Int
    var temperature: Double?
    /// As `WireFormat.options` read them.
    var options: [String: JSONValue]
    /// Values of `WireFormat.settings`.
    var settings: [String: String]
    /// Members of `WireFormat.omittable` that are not written.
    var omitted: Set<String> = []
}
