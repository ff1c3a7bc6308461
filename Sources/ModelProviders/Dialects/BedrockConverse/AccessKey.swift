/// An access key of AWS.
struct AccessKey: Equatable {
    var id: String
    var secret: String
    /// The session token of temporary credentials.
    var sessionToken: String?

    init(id: String, secret: String, sessionToken: String? = nil) {
        self.id = id
        self.secret = secret
        self.sessionToken = sessionToken
    }

    /// Parses `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`; nil for anything else, such as a Bedrock API key. None of the parts has a colon.
    init?(_ key: String) {
        let parts = key.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 || parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(id: parts[0], secret: parts[1], sessionToken: parts.count == 3 ? parts[2] : nil)
    }

    /// The form that `init(_:)` parses.
    var text: String { "\(id):\(secret)" + (sessionToken.map { ":\($0)" } ?? "") }

    /// That of a provider's settings; nil when they have none.
    init?(settings: [String: String]) {
        guard let id = settings["access_key_id"], let secret = settings["secret_access_key"] else { return nil }
        self.init(id: id, secret: secret, sessionToken: settings["session_token"])
    }
}
