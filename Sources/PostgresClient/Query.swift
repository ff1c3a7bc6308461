/// A statement and its parameters. A value in `\( )` becomes a parameter (`$1`, `$2`, …) and is never part of the SQL text:
///
///     let query: Query = "select gateway.begin_turn(\(user), \(message)::text)"
///
/// Parameters have no type: the server infers it from their position; add a cast where it cannot.
public struct Query: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The pieces of SQL between the parameters: always one more than there are parameters.
    private var pieces: [String]

    /// The values of the parameters, in order.
    public private(set) var parameters: [QueryParameter]

    /// The SQL text with `$n` in place of the parameters.
    public var sql: String {
        guard pieces.count > 1 else { return pieces[0] }
        var sql = pieces[0]
        for (index, piece) in pieces.dropFirst().enumerated() {
            sql += "$\(index + 1)"
            sql += piece
        }
        return sql
    }

    public init(stringLiteral value: String) {
        pieces = [value]
        parameters = []
    }

    public init(stringInterpolation: Interpolation) {
        self = stringInterpolation.query
    }

    /// A statement from text. Only for trusted text such as migrations: nothing is escaped.
    public init(unsafeSQL: String) {
        self.init(stringLiteral: unsafeSQL)
    }

    /// Adds more SQL, for instance a condition that only some requests have; parameters are renumbered.
    public mutating func append(_ fragment: Query) {
        pieces[pieces.count - 1] += fragment.pieces[0]
        pieces += fragment.pieces.dropFirst()
        parameters += fragment.parameters
    }

    /// Collects pieces and parameters.
    public struct Interpolation: StringInterpolationProtocol {
        fileprivate var query = Query(stringLiteral: "")

        public init(literalCapacity: Int, interpolationCount: Int) {
            query.parameters.reserveCapacity(interpolationCount)
            query.pieces.reserveCapacity(interpolationCount + 1)
        }

        public mutating func appendLiteral(_ literal: String) {
            query.pieces[query.pieces.count - 1] += literal
        }

        /// A value: the next parameter.
        public mutating func appendInterpolation(_ value: some QueryValue) {
            query.parameters.append(value.queryParameter)
            query.pieces.append("")
        }

        /// A value or NULL.
        public mutating func appendInterpolation<Value: QueryValue>(_ value: Value?) {
            query.parameters.append(value.queryParameter)
            query.pieces.append("")
        }

        /// A piece of SQL with its own parameters.
        public mutating func appendInterpolation(_ fragment: Query) {
            query.append(fragment)
        }

        /// The name of a table, column or channel, quoted.
        public mutating func appendInterpolation(identifier name: String) {
            appendLiteral(Query.quoted(identifier: name))
        }
    }

    static func quoted(identifier name: String) -> String {
        "\"" + String(name.flatMap { $0 == "\"" ? ["\"", "\""] : [$0] }) + "\""
    }
}
