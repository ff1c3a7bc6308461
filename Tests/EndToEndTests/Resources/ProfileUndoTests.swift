import Testing

@Suite("Undo of profile edits", .paced)
struct ProfileUndoTests {
    private static let path = "/api/v1/context-profile"

    @Test("undo walks back edit by edit, to the empty profile; after an edit it begins anew")
    func undo() async throws {
        let user = try await TestBed.shared().testUser()
        let any = ["If-Match": "*"]
        for goal in ["a", "b", "c"] { #expect(try await user.send("PUT", Self.path, ["goals": [goal]], headers: any).status == 200) }
        func undo() async throws -> Answer { try await user.send("POST", "\(Self.path)/undo", headers: any) }
        #expect(try await undo().data.texts("goals") == ["b"])
        #expect(try await undo().data.texts("goals") == ["a"])
        let empty = try await undo()
        #expect(empty.status == 200 && empty.data.texts("goals").isEmpty && empty.data.number("version") == 6, "\(empty.text)")
        let end = try await undo()
        #expect(end.status == 404 && end.errorCode == "BIZ_2004")
        #expect(try await user.send("PUT", Self.path, ["goals": ["d"]], headers: any).status == 200)
        #expect(try await undo().data.texts("goals").isEmpty)
        #expect(try await undo().status == 404, "what the empty profile was undone from is not undone again")
        let history = try await user.send("GET", "\(Self.path)/history").list
        #expect(history.map { $0.texts("goals") } == [[], ["d"], [], ["a"], ["b"], ["c"], ["b"], ["a"]])
    }
}
