import Foundation
import TestSupport
import Testing

/// A process of the provider simulator, with its journal.
final class Simulator: Sendable {
    let program: Program
    let port: Int

    var url: String { "http://127.0.0.1:\(port)/v1" }

    init() async throws {
        program = try Program(["simulate-llm", "--port", "0"])
        port = try await program.port()
    }

    /// A request that the simulator received.
    struct Request {
        var entry: JSONObject
        var messages: [(role: String, content: String)]
        var system: String { messages.filter { $0.role == "system" }.map(\.content).joined(separator: "\n\n") }
    }

    /// The requests whose messages contain a text, oldest first.
    func requests(containing text: String) async throws -> [Request] {
        let answer = try await Browser(port: port).send("GET", "/simulator/requests")
        return answer.json.objects("requests").compactMap { entry in
            let messages = entry.objects("messages").map { ($0["role"] ?? "", $0["content"] ?? "") }
            return messages.contains { $0.1.contains(text) } ? Request(entry: entry, messages: messages) : nil
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

/// A script for the simulator's handling of one request, to be put into a message.
func sim(_ script: [String: Any]) -> String {
    let quick: [String: Any] = ["first_token_ms": 0, "pace_ms": 0]
    let data = try? JSONSerialization.data(withJSONObject: quick.merging(script) { $1 }, options: [.sortedKeys, .withoutEscapingSlashes])
    return "[[sim \(data.map { String(decoding: $0, as: UTF8.self) } ?? "")]]"
}

/// A word that no other test uses.
func marker() -> String { "mark" + String((0..<12).compactMap { _ in "abcdefghijklmnopqrstuvwxyz".randomElement() }) }
