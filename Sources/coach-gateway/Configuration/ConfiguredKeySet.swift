import Identity
import Logging

/// The source of a key set, with the setting that names it.
struct ConfiguredKeySet: Sendable {
    var key: SettingKey
    var source: KeySource

    /// What is wrong with it; empty when tokens can be verified with its keys. Loads it.
    func findings() async -> [String] { await KeySet.findings(of: source).map { "\(key.name): \($0)" } }

    /// The key set, whose changes and failed loads are logged.
    func keySet(logger: Logger) -> KeySet {
        KeySet(
            source: source,
            report: { [key] event in
                switch event {
                case .loaded(let identifiers, let findings):
                    logger.log(
                        level: identifiers.isEmpty || !findings.isEmpty ? .warning : .notice, "key set loaded",
                        metadata: [
                            "setting": "\(key.name)", "kids": "\(identifiers.joined(separator: " "))",
                            "findings": "\(findings.joined(separator: "; "))",
                        ])
                case .failed(let reason):
                    logger.error("key set could not be read", metadata: ["setting": "\(key.name)", "reason": "\(reason)"])
                }
            })
    }
}
