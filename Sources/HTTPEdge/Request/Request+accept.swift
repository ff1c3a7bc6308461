import HTTPTypes
import Hummingbird

extension Request {
    /// The one of these media types, lower case, that the `Accept` header prefers; nil when it names none of them.
    public func preferredType(of types: [String]) -> String? {
        WeightedValues.parse(headers[.accept]?.lowercased()).first(where: types.contains)
    }
}
