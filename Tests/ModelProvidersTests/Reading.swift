import CoachCore
import Testing

@testable import ModelProviders

extension Dialect {
    static let openAI = Dialect(OpenAIChat.self)
}

/// Everything an answer said, put together.
struct Reading: Equatable {
    var text = ""
    var usage: TokenUsage?
    var verdict: ParsedUpdate.Verdict?
    var reasoningBytes = 0

    /// Reads a stream in these pieces, then its end.
    static func of(_ pieces: [ArraySlice<UInt8>], _ dialect: Dialect = .openAI, model: String = "m") -> Reading {
        var reader = dialect.makeReader(for: model)
        var whole = ParsedUpdate()
        func add(_ update: ParsedUpdate) {
            // Every hand-over is whole characters.
            #expect(String(validating: update.text, as: UTF8.self) != nil)
            #expect(whole.verdict == nil || update == ParsedUpdate())
            whole.text += update.text
            whole.usage = update.usage ?? whole.usage
            whole.verdict = update.verdict ?? whole.verdict
            whole.reasoningBytes += update.reasoningBytes
        }
        for piece in pieces {
            var update = ParsedUpdate()
            piece.withUnsafeBytes { reader.read($0, into: &update) }
            add(update)
        }
        var update = ParsedUpdate()
        reader.finish(into: &update)
        add(update)
        return Reading(
            text: String(decoding: whole.text, as: UTF8.self), usage: whole.usage, verdict: whole.verdict,
            reasoningBytes: whole.reasoningBytes)
    }

    static func of(_ stream: String, _ dialect: Dialect = .openAI) -> Reading { of([Array(stream.utf8)[...]], dialect) }
}

/// A stream as a server of a dialect sends it, and what it says.
struct Transcript: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var dialect: Dialect
    var model = "m"
    var bytes: [UInt8]
    var expected: Reading

    init(_ description: String, _ format: any WireFormat.Type, model: String = "m", _ stream: String, _ expected: Reading) {
        self.init(description, format, model: model, bytes: Array(stream.utf8), expected)
    }

    init(_ description: String, _ format: any WireFormat.Type, model: String = "m", bytes: [UInt8], _ expected: Reading) {
        testDescription = "\(format.name): \(description)"
        dialect = Dialect(format)
        self.model = model
        self.bytes = bytes
        self.expected = expected
    }

    func read(_ pieces: [ArraySlice<UInt8>]) -> Reading { Reading.of(pieces, dialect, model: model) }
}
