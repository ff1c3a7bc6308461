import Foundation
import Testing

@Suite("Documents")
struct ReadmeTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("the configuration table has every key of the code with its default and meaning, and no other")
    func configuration() throws {
        let code = try Self.text("Sources/coach-gateway/Configuration/SettingKey.swift")
        let table = try Self.text("deploy/README.md")
        let pattern = /SettingKey\(\s*name: "([A-Z_]+)",\s*fallback: (nil|"[^"]*"),\s*meaning:\s*"([^"]*)"/
        let keys = code.matches(of: pattern)
        #expect(keys.count > 15)
        for key in keys {
            let fallback = key.2 == "nil" ? "" : key.2 == "\"\"" ? "none" : "`\(key.2.dropFirst().dropLast())`"
            #expect(table.contains("| `\(key.1)` | \(fallback) | \(key.3) |"), "\(key.1)")
        }
        let named = Set(table.matches(of: /\| `(COACH_[A-Z_]+|DATABASE_[A-Z_]+)` \| [^|]*\| [^|]*\|/).map { String($0.1) })
        #expect(named.subtracting(keys.map { String($0.1) }).isEmpty)
    }

    @Test("the metric tables have every metric of the code with its HELP text, and no other")
    func metrics() throws {
        let code = try Self.text("Sources/coach-gateway/Composition/MetricHelp.swift").replacing(/"\n *\+ "/, with: "")
        let texts = code.matches(of: /\n *"([a-z_]+)":\s*"((?:[^"\\]|\\.)*)",/).map { "\($0.1): \($0.2.replacing("\\\"", with: "\""))" }
        let rows = try Self.text("deploy/README.md").matches(of: /\n\| `((?:coach|gen_ai|process)_[a-z_]+)[`{][^|]*\| ([^|]*) \|/)
            .map { "\($0.1): \($0.2.replacing("`", with: ""))" }
        #expect(texts.count > 40 && texts.sorted() == rows.sorted())

        let names = Set(texts.map { String($0.prefix { $0 != ":" }) })
        let files = FileManager.default.enumerator(atPath: Self.root.appendingPathComponent("Sources").path)?.compactMap { $0 as? String }
        var used: Set<String> = []
        for file in try #require(files) where file.hasSuffix(".swift") {
            let source = try Self.text("Sources/\(file)")
            guard source.contains("import CoreMetrics") else { continue }
            for match in source.matches(of: /"((?:coach|process)_[a-z_]+|gen_ai\.(?:client|server)\.[a-z_.]+)"/) {
                // As the factory of metrics names families.
                let family = ["", "_total", "_seconds"].map { match.1.replacing(".", with: "_") + $0 }.first { names.contains($0) }
                used.insert(try #require(family, "\(match.1) in \(file)"))
            }
        }
        #expect(used == names)
    }

    @Test("the README is short: at most 120 lines and 1,500 words")
    func length() throws {
        let readme = try Self.text("README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
        #expect(readme.split(whereSeparator: \.isWhitespace).count <= 1500)
    }

    private static let documents = [
        "README.md", "deploy/README.md", "deploy/bench.d/README.md", "Tests/README.md", "Sources/GatewayAPI/README.md",
        "Sources/HTTPEdge/README.md", "Sources/OutboundHTTP/README.md", "Sources/ProviderSimulator/README.md",
        "Sources/TokenRelay/README.md",
    ]

    @Test("every suite and test that a document names exists", arguments: documents)
    func tests(document: String) throws {
        let files = FileManager.default.enumerator(atPath: Self.root.appendingPathComponent("Tests").path)?.compactMap { $0 as? String }
        for match in try Self.text(document).matches(of: /`([A-Z][A-Za-z]*Tests)(?:\.([a-z][A-Za-z]*))?`/) {
            let found = try #require(files).filter { $0 == match.1 || $0.hasSuffix("/\(match.1).swift") }
            #expect(!found.isEmpty, "\(match.1)")
            guard let name = match.2 else { continue }
            #expect(try found.contains { try Self.text("Tests/\($0)").contains("func \(name)(") }, "\(match.1).\(name)")
        }
    }

    @Test("every parameter sslmode=verify-full of a document has sslrootcert with it, without which libpq 15 finds no authorities")
    func authorities() throws {
        let parameters = try Self.text("deploy/README.md").matches(of: /(?:'|\?|&)sslmode=verify-full([^\s'"`]*)/).map { String($0.1) }
        #expect(!parameters.isEmpty && parameters.allSatisfy { $0.hasPrefix("&sslrootcert=/etc/ssl/certs/ca-certificates.crt") })
    }

    @Test("every file that a document names exists", arguments: documents)
    func files(document: String) throws {
        for match in try Self.text(document).matches(of: /`((?:Sources|Tests|db|deploy|domains|prompts)\/[A-Za-z0-9_\/.+-]+)`/) {
            let path = String(match.1)
            #expect(FileManager.default.fileExists(atPath: Self.root.appendingPathComponent(path).path), "\(path)")
        }
    }
}
