/// What tests of responses share.
protocol ResponseBench {}

extension ResponseBench {
    static var path: String { "/v1/responses" }

    func create(_ user: TestUser, _ input: Any, _ more: [String: Any] = [:]) async throws -> Answer {
        try await user.send("POST", Self.path, ["model": "coach", "input": input].merging(more) { $1 })
    }

    func outputText(_ response: JSONObject) -> String {
        response.objects("output").flatMap { $0.objects("content") }.compactMap { $0["text"] }.joined()
    }
}
