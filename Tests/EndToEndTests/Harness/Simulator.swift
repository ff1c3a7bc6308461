import Foundation
import Synchronization
import TestSupport
import Testing

/// A process of the provider simulator, with its journal.
final class Simulator: Sendable {
    let program: Program
    let port: Int
    private let journal = Mutex(Journal())

    var url: String { "http://127.0.0.1:\(port)/v1" }

    init() async throws {
        program = try Program(["simulate-llm", "--port", "0"])
        port = try await program.port()
    }

    /// A request that the simulator received.
    struct Request: Sendable {
        var entry: JSONObject
        var messages: [(role: String, content: String)]
        var system: String { messages.filter { $0.role == "system" }.map(\.content).joined(separator: "\n\n") }
    }

    /// The requests whose messages contain a text, oldest first.
    func requests(containing text: String) async throws -> [Request] {
        let ended = journal.withLock { $0.ended }
        let answer = try await Browser(port: port).send("GET", "/simulator/requests?after=\(ended)")
        let entries = answer.json.objects("requests")
        return journal.withLock { journal in
            journal.add(entries)
            return journal.requests(containing: text)
        }
    }

    /// How the only request whose messages contain a text ended, and when, by this machine's clock.
    func end(of text: String) async throws -> (outcome: String, at: Date) {
        try await eventually("the end of the call") { try await requests(containing: text).first?.entry["outcome"] != "running" }
        let entry = try #require(try await requests(containing: text).first?.entry)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let began = try format.parse(try #require(entry["time"]))
        return (entry["outcome"] ?? "", began.addingTimeInterval((entry.real("ended_after_ms") ?? 0) / 1000))
    }
}

/// What was read of a simulator's journal. Only requests that run change, and all of them together are megabytes.
private struct Journal {
    private var requests: [Int: Simulator.Request] = [:]
    /// The number of the last request of which it and all before it have ended.
    private(set) var ended = 0

    mutating func add(_ entries: [JSONObject]) {
        for entry in entries {
            guard let sequence = entry.number("sequence"), !hasEnded(sequence) else { continue }
            requests[sequence] = Simulator.Request(
                entry: entry, messages: entry.objects("messages").map { ($0["role"] ?? "", $0["content"] ?? "") })
        }
        while hasEnded(ended + 1) { ended += 1 }
    }

    private func hasEnded(_ sequence: Int) -> Bool { requests[sequence].map { $0.entry["outcome"] != "running" } ?? false }

    /// Oldest first.
    func requests(containing text: String) -> [Simulator.Request] {
        // By bytes: by characters it takes hundreds of times as long.
        requests.filter { $1.messages.contains { message in message.content.withCString { strstr($0, text) != nil } } }
            .sorted { $0.key < $1.key }.map(\.value)
    }
}

/// A script for the simulator's handling of one request, to be put into a message.
func sim(_ script: [String: Any]) -> String {
    let quick: [String: Any] = ["first_token_ms": 0, "pace_ms": 0]
    let data = try? JSONSerialization.data(withJSONObject: quick.merging(script) { $1 }, options: [.sortedKeys, .withoutEscapingSlashes])
    return "[[sim \(data.map { String(decoding: $0, as: UTF8.self) } ?? "")]]"
}

/// A word that no other test uses.
func marker() -> String { "mark" + String((0..<12).compactMap { _ in "abcdefghijklmnopqrstuvwxyz".randomElement() }) }
