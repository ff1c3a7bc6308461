/// All validation errors of one JSON text, at least one, in the order of reading.
public struct JSONFindings: Error, Sendable, Equatable {
    public let first: JSONFinding
    public let others: [JSONFinding]

    public init(_ first: JSONFinding, others: [JSONFinding] = []) {
        self.first = first
        self.others = others
    }

    public var all: [JSONFinding] { [first] + others }
}

extension JSONReader {
    /// Parses an object, reads it with `body`, and throws all findings at once, at most `limit`.
    ///
    /// A valid text is read once, without the cost of collecting. A text with a finding is read again to collect all findings, so `body`
    /// must be pure.
    public static func read<Value>(
        parsing bytes: [UInt8], flaws rule: FlawRule, spelling: Spelling, limit: Int, maximumDepth: Int = JSONCursor.maximumDepth,
        _ body: (JSONReader) throws(JSONFinding) -> Value
    ) throws(JSONFindings) -> Value {
        let reader: JSONReader
        do throws(JSONFinding) {
            reader = try JSONReader(parsing: bytes, flaws: rule, spelling: spelling, maximumDepth: maximumDepth)
            if reader.value.members == nil { try reader.report(.wrongType(expected: .object)) }
        } catch {
            throw JSONFindings(error)
        }
        do throws(JSONFinding) {
            return try body(reader)
        } catch {
            throw reader.collected(first: error, limit: limit, body)
        }
    }

    private func collected<Value>(
        first: JSONFinding, limit: Int, _ body: (JSONReader) throws(JSONFinding) -> Value
    ) -> JSONFindings {
        let session = ReadingSession(collects: true, limit: limit, spelling: session.spelling, flaws: session.flaws)
        do throws(JSONFinding) {
            _ = try body(JSONReader(value, path: "", textPath: "", session, isPlaceholder: false))
        } catch {
            // Thrown by `body` itself, not by the reader.
            return JSONFindings(first, others: session.findings.filter { $0 != first } + (error == first ? [] : [error]))
        }
        return JSONFindings(first, others: session.findings.filter { $0 != first })
    }
}
