/// An address of Azure OpenAI: `/openai/deployments/NAME/chat/completions`, or `/openai/v1/chat/completions`.
struct AzurePath {
    /// What stands for the model; nil where the body names it.
    var deployment: String?

    init?(_ path: String) {
        let parts = path.split(separator: "/")
        guard parts.first == "openai", parts.suffix(2) == ["chat", "completions"] else { return nil }
        if parts.count == 5, parts[1] == "deployments" {
            deployment = String(parts[2])
        } else if parts.count != 4 || parts[1] != "v1" {
            return nil
        }
    }
}
