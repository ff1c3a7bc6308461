import CoachCore
import JSON
import TokenRelay

/// The parts of a dialect. All functions are pure.
protocol WireFormat: Sendable {
    /// Its name in `deploy/models.json`.
    static var name: String { get }
    /// The path of a base address that has none (`BaseURL.normalized`).
    static var basePath: String { get }
    /// How a request carries the key unless the provider's entry says otherwise.
    static var keyHeader: Provider.KeyHeader { get }
    /// Members that only this dialect has in a provider's entry. Each may also be a variable of the environment, which `NAME_env` names.
    static var settings: [DialectSetting] { get }
    /// Reads the members that only this dialect has in a model's entry of a route.
    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue]
    /// The options of a model's entry without those that another model may refuse, which takes its place.
    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue]
    /// Members of the body that `parameters` of a provider or model must not set, because `write` or `encode` do.
    static var reserved: Set<String> { get }
    /// Reserved members that are not necessary and that a server may refuse: `null` in `parameters` leaves them out.
    static var omittable: Set<String> { get }
    /// Whether the provider's entry must state in `parameters` the member that forbids the provider to keep prompts, because servers have different ones.
    /// Other dialects send it themselves, or have none.
    static var needsStatedOptOut: Bool { get }
    /// Type of the streamed answer.
    static var mediaType: String { get }
    /// Header fields of each request, beside those common to all.
    static var headers: [TransferHeader] { get }

    /// The prompt's members of the body, without braces: the only part whose length grows with it.
    static func encode(_ prompt: Prompt) -> [UInt8]
    /// The same members with marks for the provider's cache, which some models refuse.
    static func encodeWithCacheMarks(_ prompt: Prompt) -> [UInt8]
    /// Whether a model takes these marks.
    static func takesCacheMarks(_ model: String, options: [String: JSONValue]) -> Bool
    /// The other members of the body.
    static func write(_ call: DialectCall, to json: inout JSONWriter)
    /// The path below the base address, encoded, and the parameters of the URL.
    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)])
    /// Signs a request, which then carries no key. False: the request is unchanged, and is sent with the key.
    static func sign(_ request: inout TransferRequest, _ call: DialectCall, key: String?, at now: Timestamp) -> Bool

    /// The key that the provider's settings contain, for a provider without a variable or a file of keys; nil: none.
    static func key(in settings: [String: String]) -> String?
    /// Whether a key has a form that the dialect can send. Other keys are mistakes and are never sent.
    static func isKey(_ key: String) -> Bool

    /// The name of a model's family, on which the reading of its answers may depend: the model's own name, unless the entry states another.
    static func family(of model: String, options: [String: JSONValue]) -> String
    static func makeReader(model: String) -> any AnswerReader
    /// Reads an error response.
    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError
}

extension WireFormat {
    static var basePath: String { "" }
    static var keyHeader: Provider.KeyHeader { .bearer }
    static var settings: [DialectSetting] { [] }
    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] { [:] }
    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] { options }
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

/// A member of a provider's entry that only one dialect has.
struct DialectSetting: Sendable {
    var name: String
    var isRequired = false
    /// Whether it is taken from the environment only.
    var isSecret = false
}

/// The content of a request beside the prompt.
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
