import Foundation
import TestSupport
import Testing

@Suite("Alerts of an instance", .paced)
struct InstanceAlertTests {
    @Test("a missing large encoder and a folder of receipts that cannot be read fire alerts, and the other rules are evaluated")
    func readings() async throws {
        let (root, state, database) = (try Folder.copyOfRoot(), try StateFolder(), try await Database.ofItsOwn())
        try FileManager.default.removeItem(atPath: root.path + "/domains/encoder-large.bin")
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: state.state(["COACH_ROOT": root.path]))
        try await database.wait(forAlert: "missing-classifier", isFiring: true)
        #expect(try await database.rows("select 1 as one from gateway.alerts where rule = 'spooled-receipts'").isEmpty)

        try FileManager.default.removeItem(atPath: state.path + "/1/receipts")
        try await database.wait(forAlert: "spooled-receipts", isFiring: true)
        #expect(gateway.log.contains { $0["message"] == "the folder of receipts cannot be read" })
        try await database.fresh.psql(
            "insert into gateway.jobs (kind, due_at, max_attempts, state) values ('x', now() - interval '1 minute', 1, 'dead')")
        try await database.wait(forAlert: "dead-jobs", isFiring: true)

        try FileManager.default.createDirectory(atPath: state.path + "/1/receipts", withIntermediateDirectories: false)
        try await database.wait(forAlert: "spooled-receipts", isFiring: false)
    }
}
