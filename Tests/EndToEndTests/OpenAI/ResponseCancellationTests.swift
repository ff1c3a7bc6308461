import Foundation
import TestSupport
import Testing

@Suite("Responses in the background, and their cancellation", .paced)
struct ResponseCancellationTests: ResponseBench {
    @Test("run in the background, are read while they run, on another instance, too, and cancelled")
    func background() async throws {
        let pair = try await Pair.shared()
        let user = TestUser(gateway: pair.one)
        let slow = "Tell me all. \(sim(["words": 4000, "pace_ms": 10]))"
        let created = try await create(user, slow, ["background": true])
        #expect(created.status == 200 && created.json["status"] == "in_progress" && created.json.flag("background") == true)
        let id = try #require(created.json["id"])
        let elsewhere = TestUser(gateway: pair.other, id: user.id)
        try await eventually("text of the running response") {
            try await !outputText(user.send("GET", "\(Self.path)/\(id)").json).isEmpty
        }
        try await eventually("its text so far on another instance") {
            let read = try await elsewhere.send("GET", "\(Self.path)/\(id)").json
            return read["status"] == "in_progress" && !outputText(read).isEmpty
        }
        let cancelled = try await elsewhere.send("POST", "\(Self.path)/\(id)/cancel")
        #expect(cancelled.status == 200 && cancelled.json["status"] == "cancelled", "\(cancelled.text)")
        let read = try await user.send("GET", "\(Self.path)/\(id)").json
        #expect(read["status"] == "cancelled" && !outputText(read).isEmpty)
        #expect(read["id"] == id && read.flag("background") == true)
        let stream = try await user.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=3")
        #expect(stream.events.last?.type == "response.incomplete")
        #expect(try await user.send("POST", "\(Self.path)/\(id)/cancel").json["status"] == "cancelled")
    }

    @Test("that do not run in the background cannot be cancelled")
    func foreground() async throws {
        let user = try await TestBed.shared().testUser()
        let created = try await create(user, "Hello \(sim(["words": 2]))")
        let id = try #require(created.json["id"])
        #expect(created.json.flag("background") == false)
        let cancelled = try await user.send("POST", "\(Self.path)/\(id)/cancel")
        #expect(cancelled.status == 400 && cancelled.json.object("error")["type"] == "invalid_request_error", "\(cancelled.text)")
        #expect(try await user.send("GET", "\(Self.path)/\(id)").json["status"] == "completed")
        #expect(try await TestBed.shared().testUser().send("POST", "\(Self.path)/\(id)/cancel").status == 404)
    }

    @Test("are cancelled also when they end between the request to stop and the next look at them")
    func endedMeanwhile() async throws {
        let pair = try await Pair.fresh()
        try await pair.database.fresh.psql(
            """
            alter function gateway.load_turn(uuid, uuid) rename to load_turn_at_once;
            create function gateway.load_turn(uid uuid, turn_id uuid) returns jsonb language plpgsql set search_path = '' as $$
            begin
                perform pg_sleep(1);
                return gateway.load_turn_at_once(uid, turn_id);
            end $$;
            """)
        let user = TestUser(gateway: pair.one)
        let created = try await create(user, "Tell me all. \(sim(["words": 4000, "pace_ms": 10]))", ["background": true])
        let id = try #require(created.json["id"])
        try await eventually("text of the running response") {
            try await !outputText(user.send("GET", "\(Self.path)/\(id)").json).isEmpty
        }
        let cancelled = try await TestUser(gateway: pair.other, id: user.id).send("POST", "\(Self.path)/\(id)/cancel")
        #expect(cancelled.status == 200 && cancelled.json["status"] == "cancelled", "\(cancelled.text)")
        #expect(!outputText(cancelled.json).isEmpty)
    }
}
