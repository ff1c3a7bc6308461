import Synchronization
import TokenRelay

/// The secrets that providers get: API keys, and fields from the environment. `print`, `dump` and string interpolation do not show them.
public final class ProviderKeys: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let values: [String: String]
    /// By provider.
    private let files: [String: (path: String, dialect: Dialect)]
    /// By provider.
    private let rings: Mutex<[String: KeyRing]>

    /// Takes the variables that the configuration's providers name from the environment, and reads their files.
    public init(of configuration: ModelConfiguration, environment: [String: String]) {
        let providers = configuration.providers.values
        let names = Set(providers.flatMap(\.variables))
        let values = environment.filter { names.contains($0.key) }.mapValues(Self.trimmed).filter { !$0.value.isEmpty }
        self.values = values
        files = Dictionary(
            uniqueKeysWithValues: providers.compactMap { provider in
                provider.keyFile.map { (provider.name, (path: $0, dialect: provider.dialect)) }
            })
        rings = Mutex(
            Dictionary(
                uniqueKeysWithValues: providers.compactMap { provider in
                    let keys =
                        provider.keyFile.map { KeyFile.read($0) ?? [] } ?? provider.keyVariable.flatMap { values[$0] }.map(Self.split)
                        ?? provider.dialect.format.key(in: provider.settings { values[$0] }).map { [$0] }
                    return keys.map { (provider.name, KeyRing($0)) }
                }))
    }

    /// The value of an environment variable.
    subscript(variable: String) -> String? { values[variable] }

    /// The key for a request to this provider now; nil when it has none that can be used.
    func key(of provider: String, at now: MonotonicInstant) -> String? { rings.withLock { $0[provider]?.key(at: now) } }

    /// Whether the provider has keys, and refused all of them lately.
    func areRefused(of provider: String, at now: MonotonicInstant) -> Bool { rings.withLock { $0[provider]?.areRefused(at: now) ?? false } }

    /// Stops the use of a key for this time: the provider refused it, or it met a rate limit.
    /// - Returns: whether another key is ready.
    func coolDown(_ key: String, of provider: String, for cooldown: Duration, isRefused: Bool, at now: MonotonicInstant) -> Bool {
        rings.withLock { $0[provider]?.coolDown(key, until: now + cooldown, isRefused: isRefused, at: now) ?? false }
    }

    /// How long until a key of this provider is ready; nil when it has none.
    func wait(of provider: String, at now: MonotonicInstant) -> Duration? {
        rings.withLock { $0[provider]?.firstReady(at: now) }.map { now.duration(to: $0) }
    }

    /// Reads the files again. A file changes nothing when it cannot be read, has no key, or has one of a wrong form.
    /// - Returns: the providers whose keys have changed, and those whose file changed nothing for such a reason.
    public func reload() -> (changed: [String], unreadable: [String]) {
        var changed: [String] = []
        var unreadable: [String] = []
        for (provider, file) in files.sorted(by: { $0.key < $1.key }) {
            guard let keys = KeyFile.read(file.path), keys.allSatisfy({ file.dialect.format.isKey($0) }) else {
                unreadable.append(provider)
                continue
            }
            if rings.withLock({ $0[provider, default: KeyRing([])].replace(with: keys) }) { changed.append(provider) }
        }
        return (changed, unreadable)
    }

    public var description: String { "\(values.count) secrets" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Removes white space around a key, such as the line end of a file.
    static func trimmed(_ key: String) -> String {
        let isBlank = { (character: Character) in character.isWhitespace }
        var rest = key[...].drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }

    /// The keys of one variable, which commas separate.
    static func split(_ value: String) -> [String] {
        value.split(separator: ",").map { trimmed(String($0)) }.filter { !$0.isEmpty }
    }
}
