/// The secrets that providers get: API keys, and fields from the environment. `print`, `dump` and string interpolation do not show them.
public struct ProviderKeys: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let values: [String: String]

    /// Takes the variables that the configuration's providers name from the environment.
    public init(of configuration: ModelConfiguration, environment: [String: String]) {
        let names = Set(configuration.providers.values.flatMap(\.variables))
        values = environment.filter { names.contains($0.key) }.mapValues(Self.trimmed).filter { !$0.value.isEmpty }
    }

    /// The value of an environment variable.
    subscript(variable: String) -> String? { values[variable] }

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
}
