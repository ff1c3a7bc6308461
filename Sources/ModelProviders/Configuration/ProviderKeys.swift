/// The providers' API keys. `print`, `dump` and string interpolation do not show them.
public struct ProviderKeys: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let keys: [String: String]

    /// Takes the keys of the configuration's providers from the environment.
    public init(of configuration: ModelConfiguration, environment: [String: String]) {
        keys = configuration.providers.compactMapValues { provider in
            provider.keyVariable.flatMap { environment[$0] }.map(Self.trimmed).flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The key of a provider, by its name.
    subscript(provider: String) -> String? { keys[provider] }

    public var description: String { "keys of \(keys.count) providers" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Removes white space around a key, such as the line end of a file.
    static func trimmed(_ key: String) -> String {
        let isBlank = { (character: Character) in character.isWhitespace }
        var rest = key[...].drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
