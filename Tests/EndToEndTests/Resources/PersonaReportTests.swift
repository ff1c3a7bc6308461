import Testing

@Suite("Reports of personas", .paced)
struct PersonaReportTests {
    private static let path = "/api/v1/reports"

    @Test("a user reports a persona that they may see, or talked to; operators read the report, its creator does not")
    func reports() async throws {
        let testBed = try await TestBed.shared()
        let creator = TestUser(gateway: testBed.gateway, role: "creator")
        let (user, stranger) = (testBed.testUser(), testBed.testUser())
        let persona = try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        let item = "/api/v1/personas/\(persona)"
        let comment = "unkind " + marker()
        let body = ["persona_id": persona, "reason": "impersonation", "comment": comment]
        let draft = try await user.send("POST", Self.path, body)
        #expect(draft.status == 422 && draft.errorCode == "VAL_3003", "another's draft: \(draft.text)")
        #expect(draft.error.object("details")["field"] == "persona_id")

        #expect(try await creator.send("POST", "\(item)/publish", ["visibility": "listed"]).status == 200)
        let key = ["Idempotency-Key": "report"]
        let first = try await user.send("POST", Self.path, body, headers: key)
        #expect(first.status == 201 && first.data["persona_id"] == persona && first.data["reason"] == "impersonation", "\(first.text)")
        #expect(first.data["comment"] == comment && first.data.isNull("message_id"))
        #expect(try await user.send("POST", Self.path, body, headers: key).data["id"] == first.data["id"])

        // It is not published any more: only those whose conversations have it know it.
        #expect(try await user.send("POST", "/api/v1/conversations", ["persona_id": persona]).status == 201)
        #expect(try await creator.send("POST", "\(item)/unpublish").status == 200)
        #expect(try await user.send("POST", Self.path, body).status == 201)
        #expect(try await stranger.send("POST", Self.path, body).status == 422)

        let operators = TestUser(gateway: testBed.gateway, role: "operator")
        let read = try await operators.send("GET", "/api/v1/operator/reports?limit=100").list.filter { $0["comment"] == comment }
        #expect(read.count == 2 && read.allSatisfy { $0["persona_id"] == persona && $0["user_id"] == user.id }, "\(read)")
        for path in [item, "\(item)/stats", "/api/v1/me/personas", "/api/v1/sync", "/api/v1/me/export"] {
            let answer = try await creator.send("GET", path)
            #expect(answer.status == 200 && !answer.text.contains(comment), "\(path)")
        }
    }

    @Test("a report of no persona, of two things, or without a known reason is rejected")
    func rejected() async throws {
        let user = try await TestBed.shared().testUser()
        let (persona, message) = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
        let unknown = try await user.send("POST", Self.path, ["persona_id": persona, "reason": "other"])
        #expect(unknown.status == 422 && unknown.errorCode == "VAL_3003", "\(unknown.text)")
        let both = try await user.send("POST", Self.path, ["persona_id": persona, "message_id": message, "reason": "other"])
        #expect(both.status == 422 && both.findingFields == ["persona_id"])
        let long = String(repeating: "é", count: 2_001)
        let wrong = try await user.send("POST", Self.path, ["persona_id": "x", "reason": "rude", "comment": long])
        #expect(wrong.status == 422 && Set(wrong.findingFields).isSuperset(of: ["persona_id", "reason", "comment"]), "\(wrong.text)")
    }
}
