import Foundation

extension TestUser {
    /// A request with a JSON body.
    func send(
        _ method: String, _ path: String, _ body: [String: Any]? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        let bytes = try body.map { Array(try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys)) }
        return try await browser.send(method, path, body: bytes, headers: headers)
    }

    /// The same user with a role in their token.
    init(gateway: Gateway, role: String) {
        let id = UUID().uuidString.lowercased()
        self.id = id
        browser = Browser(port: gateway.port, token: Token(user: id).with(["app_metadata": ["role": role]]).text)
    }
}

extension Answer {
    /// `data` of an envelope, when it is an object.
    var data: JSONObject { json.object("data") }
    /// `data` of an envelope, when it is a list.
    var list: [JSONObject] { json.objects("data") }
    /// `error.details.findings[].field`.
    var findingFields: [String] { error.object("details").objects("findings").compactMap { $0["field"] } }
}
