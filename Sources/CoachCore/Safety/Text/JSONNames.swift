extension String {
    /// Without the names of members of JSON objects; nil without any. Programs give these names, no person says them, and their words
    /// ("cut_after_tokens", "drop", "kill") have other meanings there.
    var withoutJSONNames: String? {
        guard contains("\":") else { return nil }
        let result = replacing(/"[A-Za-z0-9_.\-]{1,64}":/, with: " ")
        return result == self ? nil : result
    }
}
