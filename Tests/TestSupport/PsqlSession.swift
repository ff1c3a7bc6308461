import Foundation

/// A psql that stays connected: starting one takes many times as long as most queries.
final class PsqlSession: Sendable {
    /// The server is gone, or was not there.
    struct Lost: Error, CustomStringConvertible {
        /// What psql said.
        let description: String
    }

    /// Ends an answer; behind it stands whether the query failed.
    private static let mark = "answered:"
    private let process: ChildProcess

    init(_ url: String) throws {
        // When it has ended, nothing reads its input any more.
        signal(SIGPIPE, SIG_IGN)
        process = try ChildProcess(
            [PostgresPrograms.path("psql"), "-X", "-q", "-A", "-t", "-d", url], input: .pipe, output: .pipe, errors: .pipe)
        // Errors share the pipe with rows, and so would notices and warnings. When this fails, so does the first query, and tells why.
        try? process.write("set client_min_messages = error;")
    }

    /// The lines of a query's answer. Blocks. One query at a time.
    /// - Throws: `Command.Failure` with the server's error, or `Lost`.
    func lines(of query: String) throws -> [String] {
        do { try process.write("\(query)\n;\n\\echo \(Self.mark) :ERROR") } catch { throw Lost(description: "\(error)") }
        var lines: [String] = []
        while let line = process.nextLine() {
            guard line.hasPrefix(Self.mark) else {
                lines.append(line)
                continue
            }
            guard line.hasSuffix("false") else { throw Command.Failure(description: lines.joined(separator: "\n")) }
            return lines
        }
        throw Lost(description: lines.joined(separator: "\n"))
    }
}
