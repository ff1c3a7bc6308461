import CoachCore
import Foundation
import Synchronization
import Testing

/// The tokens of a call, in classes that do not overlap. `input` is what was neither read from a cache nor written to one.
struct CallTokens: Sendable, Equatable {
    var input = 0
    var cachedInput = 0
    var cacheWrite = 0
    var output = 0
    var reasoning = 0

    var prompt: [Int] { [input, cachedInput, cacheWrite] }

    static func + (a: Self, b: Self) -> Self {
        CallTokens(
            input: a.input + b.input, cachedInput: a.cachedInput + b.cachedInput, cacheWrite: a.cacheWrite + b.cacheWrite,
            output: a.output + b.output, reasoning: a.reasoning + b.reasoning)
    }
}

/// The calls that the simulator has seen. Its own journal is bounded, so it is read while it fills.
final class ProviderJournal: Sendable {
    struct Call: Sendable {
        enum Purpose { case turn, judge, summary }

        var purpose: Purpose
        /// Of the newest message in the prompt.
        var mark: String
        var model: String
        var isAccepted: Bool
        var isFinished: Bool
        var reportsUsage: Bool
        /// As reported at the end.
        var figures: CallTokens
        /// Tokens that were sent, and the milliseconds between two of them.
        var tokens: Int
        var pace: Double
        /// `TokenEstimate` of its messages.
        var promptTokens: Int
        var time: ClosedRange<Date>

        /// It has told the gateway all that it is billed for.
        var isReported: Bool { isAccepted && isFinished && reportsUsage }
    }

    static let judgeModel = "sim-judge"
    /// What the judge's model is told to do.
    static var judgeScript: [String: Any] {
        [
            "model": judgeModel, "text": #"{"tier": 0}"#,
            "usage": ["prompt_tokens": 77, "completion_tokens": 5, "cached_tokens": 0, "reasoning_tokens": 0],
        ]
    }

    private let state = Mutex<(calls: [Int: Call], after: Int)>(([:], 0))
    private let simulator: Simulator

    init(_ simulator: Simulator) { self.simulator = simulator }

    var calls: [Call] { state.withLock { Array($0.calls.values) } }

    static func mark(in text: String) -> String? { text.matches(of: /mark[a-z]{12}/).last.map { String($0.0) } }

    /// From the oldest call on that ran when it was read last.
    func read() async throws {
        let after = state.withLock { $0.after }
        let answer = try await Browser(port: simulator.port).send("GET", "/simulator/requests?after=\(after)")
        let entries = answer.json.objects("requests")
        for entry in entries {
            let (sequence, call) = (entry.number("sequence") ?? 0, Self.call(entry))
            state.withLock { $0.calls[sequence] = call }
        }
        let running = entries.first { $0["outcome"] == "running" }?.number("sequence").map { $0 - 1 }
        state.withLock { $0.after = running ?? entries.last?.number("sequence") ?? after }
    }

    private static func call(_ entry: JSONObject) -> Call? {
        let messages = entry.objects("messages")
        guard let model = entry["model"], let text = messages.last(where: { $0["role"] == "user" })?["content"], let mark = mark(in: text)
        else { return nil }
        let isSummary = messages.contains { $0["role"] == "system" && $0["content"]?.contains("notes that a coach") == true }
        let script = model == judgeModel ? JSONObject(judgeScript) : script(for: model, in: text)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let began = (try? format.parse(entry["time"] ?? "")) ?? .distantPast
        return Call(
            purpose: model == judgeModel ? .judge : isSummary ? .summary : .turn, mark: mark, model: model,
            isAccepted: entry.number("status") == 200, isFinished: entry.flag("finished") == true,
            reportsUsage: script.flag("no_usage") != true,
            figures: figures(script, path: entry["path"] ?? ""),
            tokens: entry.number("tokens_sent") ?? 0, pace: script.real("pace_ms") ?? 0,
            promptTokens: messages.reduce(0) {
                $0 + TokenEstimate.tokens(in: ($1["content"] ?? "").utf8) + TokenEstimate.perMessage
            },
            time: began...began.addingTimeInterval(max(0, entry.real("ended_after_ms") ?? 0) / 1000))
    }

    /// What a script reports in the dialect of a path: not each has all classes, and what it has no class for is in the whole.
    private static func figures(_ script: JSONObject, path: String) -> CallTokens {
        let (usage, isBedrock) = (script.object("usage"), path.contains("/converse"))
        let cached = usage.number("cached_tokens") ?? 0
        let written = isBedrock || path.hasSuffix("/messages") ? script.number("cache_write_tokens") ?? 0 : 0
        let reasoning = isBedrock ? 0 : usage.number("reasoning_tokens") ?? 0
        return CallTokens(
            input: (usage.number("prompt_tokens") ?? 0) - cached - written, cachedInput: cached, cacheWrite: written,
            output: (usage.number("completion_tokens") ?? 0) - reasoning, reasoning: reasoning)
    }

    /// The script that the simulator has followed: the last one for the model.
    private static func script(for model: String, in text: String) -> JSONObject {
        text.components(separatedBy: "[[sim ").dropFirst().compactMap { $0.components(separatedBy: "]]").first }.map { JSONObject($0) }
            .last { $0["model"] == model } ?? JSONObject([:])
    }
}

/// The words that the simulator answers with: each text begins with those of a shorter one.
struct SimulatorWords: Sendable {
    /// The estimate of so many tokens of text.
    private let estimates: [Int]

    init(_ count: Int, of simulator: Simulator) async throws {
        let body: [String: Any] = [
            "model": "sim-coach-1", "messages": [["role": "user", "content": sim(["words": count])]],
        ]
        let answer = try await Browser(port: simulator.port, token: "any").send(
            "POST", "/v1/chat/completions", body: Array(try JSONSerialization.data(withJSONObject: body)))
        let text = try #require(answer.json.objects("choices").first?.object("message")["content"])
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        try #require(words.count == count)
        estimates = (0...count).map { TokenEstimate.tokens(in: words.prefix($0).joined(separator: " ").utf8) }
    }

    /// `TokenEstimate` of the first so many words.
    func estimate(of count: Int) -> Int { estimates[min(count, estimates.count - 1)] }
}
