import BackgroundJobs
import Identity
import Logging

/// The source of a key set, with the setting that names it.
struct ConfiguredKeySet: Sendable {
    var key: SettingKey
    var source: KeySource

    /// What is wrong with it; empty when tokens can be verified with its keys. Loads it.
    func findings() async -> [String] { await KeySet.findings(of: source).map { "\(key.name): \($0)" } }

    /// The key set, whose changes are logged, and the job that loads it.
    func keySet(logger: Logger) -> (keys: KeySet, job: PeriodicJob) {
        let keys = KeySet(
            source: source,
            report: { [key] identifiers, findings in
                logger.log(
                    level: identifiers.isEmpty || !findings.isEmpty ? .warning : .notice, "key set loaded",
                    metadata: [
                        "setting": "\(key.name)", "kids": "\(identifiers.joined(separator: " "))",
                        "findings": "\(findings.joined(separator: "; "))",
                    ])
            })
        let job = PeriodicJob("key set of \(key.name)", source.schedule, logger: logger) {
            if await !keys.load() { throw LoadFailure(description: keys.failure ?? "another load has succeeded since") }
        }
        return (keys, job)
    }

    private struct LoadFailure: Error, CustomStringConvertible {
        let description: String
    }
}
