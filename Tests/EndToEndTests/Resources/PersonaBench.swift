import Testing

/// What tests of personas share.
protocol PersonaBench {}

extension PersonaBench {
    static var path: String { "/api/v1/personas" }
    /// A part of the prompt, which only its creator may read.
    static var secret: String { "secret-method" }

    func creator() async throws -> TestUser { TestUser(gateway: try await TestBed.shared().gateway, role: "creator") }

    /// The id of a new draft, named Ada.
    func made(by creator: TestUser) async throws -> String {
        let answer = try await creator.send(
            "POST", Self.path,
            ["name": "Ada", "description": "Says \"hi\" <b>", "methodology": [Self.secret], "starters": ["Where do I start?"]])
        #expect(answer.status == 201 && answer.headers["etag"] == "\"v1\"", "\(answer.text)")
        return try #require(answer.data["id"])
    }
}
