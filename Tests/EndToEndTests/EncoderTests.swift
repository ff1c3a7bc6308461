import Foundation
import TestSupport
import Testing

@Suite("The encoder", .serialized, .paced)
struct EncoderTests {
    /// What neither grammar nor linear model find.
    private static let message =
        "Last thing on the list is done, my sister has the dog now. After Sunday nobody has to look after me any more."

    private static func gateway(_ root: Folder? = nil) async throws -> Gateway {
        let environment = ["COACH_METRICS_LISTEN": "127.0.0.1:0"].merging(root.map { ["COACH_ROOT": $0.path] } ?? [:]) { $1 }
        let testBed = try await TestBed.shared()
        return try await Gateway(database: testBed.database.gatewayURL, simulator: testBed.simulator.url, environment: environment)
    }

    @Test("reads what the first pass leaves open before the turn begins, with the card in the stream and the stage in the audit")
    func reads() async throws {
        let gateway = try await Self.gateway()
        let user = gateway.testUser()
        let answer = try await user.chat(Self.message, ["country": "US"])
        #expect(answer.eventTypes.prefix(2) == ["start", "safety"])
        #expect(answer.first("safety")?.fields.texts("categories").first == "suicide")
        let event = try await TestBed.shared().database.row(
            "select e.* from gateway.crisis_events e join users u using (account_id) where u.id = '\(user.id)'")
        #expect(event["stage"] == "model" && event.texts("patterns").contains("model.suicide"))
        let metrics = try await Browser(port: try await gateway.metricsPort()).send("GET", "/metrics").text
        #expect(metrics.contains("coach_encoder_messages_total{effect=\"raised\"} 1"), "\(metrics)")
    }

    @Test("many messages at once are answered all, read or not")
    func many() async throws {
        let gateway = try await Self.gateway()
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<40 { group.addTask { try await gateway.testUser().chat("\(Self.message) \(number)", ["country": "US"]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 40 && answers.allSatisfy { $0.eventTypes.last == "done" })
        #expect(answers.contains { $0.eventTypes.contains("safety") })
    }

    @Test("a missing file is a warning: the gateway serves by the first pass alone")
    func missing() async throws {
        let root = try Folder.copyOfRoot()
        try FileManager.default.removeItem(atPath: root.path + "/domains/encoder.bin")
        let gateway = try await Self.gateway(root)
        #expect(gateway.program.output.contains("without the encoder"))
        let answer = try await gateway.testUser().chat("I want to kill myself", ["country": "US"])
        #expect(answer.eventTypes.contains("safety") && answer.eventTypes.last == "done")
    }
}
