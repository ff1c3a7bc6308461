extension String {
    /// The text without the names of members of JSON objects; nil when it has none. Such names are words of programs, not of people: "cut_after_tokens",
    /// "drop", "kill".
    var withoutJSONNames: String? {
        guard contains("\":") else { return nil }
        let result = replacing(/"[A-Za-z0-9_.\-]{1,64}":/, with: " ")
        return result == self ? nil : result
    }
}
