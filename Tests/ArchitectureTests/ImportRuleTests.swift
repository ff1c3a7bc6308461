import Foundation
import TestSupport
import Testing

/// Which of our targets may import which, and which external products. The README's table shows the same.
private let mayImport: [String: Set<String>] = [
    "CLibPQ": [],
    "CLibSSL": [],
    "CLibCurl": [],
    "CGatewayShims": [],
    "CPageFiles": [],
    "CVectorMath": [],
    "JSON": [],
    "BinaryFormats": [],
    "OpenSSLCrypto": ["CLibSSL"],
    "EventStream": ["JSON"],
    "Telemetry": ["JSON", "Logging", "CoreMetrics", "Tracing"],
    "CoachCore": ["BinaryFormats", "CVectorMath", "JSON"],
    "ModelTraining": ["BinaryFormats", "CoachCore", "JSON"],
    "GatewayAPI": ["JSON", "EventStream"],
    "Reactor": ["CGatewayShims"],
    "PostgresClient": ["CLibPQ", "JSON", "Reactor"],
    "OutboundHTTP": ["CLibCurl", "Reactor"],
    "CoachStore": ["CoachCore", "JSON", "PostgresClient"],
    "BackgroundJobs": ["CoachCore", "Logging", "CoreMetrics", "ServiceLifecycle"],
    "TokenRelay": ["CoachCore", "CLibSSL", "Reactor", "OutboundHTTP"],
    "ModelProviders": ["BinaryFormats", "CoachCore", "JSON", "EventStream", "OpenSSLCrypto", "TokenRelay"],
    "Identity": ["CoachCore", "JSON", "OpenSSLCrypto", "OutboundHTTP"],
    "Webhooks": ["HTTPEdge", "CoachCore", "JSON", "OpenSSLCrypto", "OutboundHTTP", "Hummingbird", "HTTPTypes"],
    "HTTPEdge": [
        "CoachCore", "GatewayAPI", "JSON", "Identity", "Hummingbird", "HummingbirdCore", "HTTPTypes", "NIOCore", "NIOHTTP1",
        "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix", "Logging", "CoreMetrics", "ServiceLifecycle",
    ],
    "ChatAPI": [
        "HTTPEdge", "BackgroundJobs", "CoachCore", "GatewayAPI", "JSON", "EventStream", "OpenSSLCrypto", "TokenRelay", "Hummingbird",
        "HTTPTypes", "NIOCore", "NIOPosix", "Logging", "CoreMetrics", "Tracing", "ServiceLifecycle",
    ],
    "AccountAPI": ["HTTPEdge", "BinaryFormats", "CoachCore", "GatewayAPI", "JSON", "ChatAPI", "Hummingbird", "HTTPTypes"],
    "OperatorAPI": [
        "CPageFiles", "HTTPEdge", "CoachCore", "GatewayAPI", "JSON", "EventStream", "OpenSSLCrypto", "Hummingbird", "HTTPTypes",
    ],
    "PersonaAPI": ["HTTPEdge", "CoachCore", "GatewayAPI", "JSON", "Hummingbird", "HTTPTypes", "NIOPosix"],
    "CoachClient": ["GatewayAPI", "JSON", "EventStream"],
    "coach-bench": ["CGatewayShims", "CLibSSL", "JSON", "OpenSSLCrypto", "ArgumentParser"],
    "ProviderSimulator": ["BinaryFormats", "JSON", "NIOCore", "NIOHTTP1", "NIOPosix", "ServiceLifecycle"],
]

/// Modules that are part of every toolchain.
private let standard: Set<String> = [
    "Foundation", "FoundationEssentials", "FoundationNetworking", "Synchronization", "Glibc", "Darwin", "Dispatch", "Swift",
]

@Suite("Import rules")
struct ImportRuleTests {
    @Test("Package.swift declares no dependency between targets that the table does not allow")
    func declarations() throws {
        // Targets that serve only tests and benchmarks lie in Tests; the table does not restrict them.
        for target in try Package.dump().targets
        where target.path?.hasPrefix("Tests/") != true && target.type != "test" && target.name != "coach-gateway" {
            let allowed = try #require(mayImport[target.name], "the table has no row for \(target.name)")
            let declared = Set(target.ownDependencies)
            #expect(declared.isSubset(of: allowed), "\(target.name) declares \(declared.subtracting(allowed).sorted())")
        }
    }

    @Test("no file imports what the table does not allow, even if the build makes it visible")
    func imports() throws {
        for (target, allowed) in mayImport {
            for file in try Package.swiftFiles(under: "Sources/\(target)") {
                for module in try Package.imports(of: file) where !standard.contains(module) {
                    #expect(allowed.contains(module), "\(file.lastPathComponent) of \(target) imports \(module)")
                }
            }
        }
    }

    @Test("a file of each target imports each target of this package that Package.swift declares for it")
    func usedDeclarations() throws {
        for target in try Package.dump().targets {
            let folder = target.path ?? (target.type == "test" ? "Tests/" : "Sources/") + target.name
            let imported = try Set(Package.swiftFiles(under: folder).flatMap(Package.imports(of:)))
            let unused = target.ownDependencies.filter { !imported.contains($0.replacing("-", with: "_")) }
            #expect(unused.isEmpty, "\(target.name) declares \(unused) and imports none of them")
        }
    }

    @Test("the README's table shows the dependencies that Package.swift declares")
    func readme() throws {
        let targets = try Package.dump().targets
        let readme = try String(contentsOf: Package.root.appendingPathComponent("README.md"), encoding: .utf8)
        var shown: Set<String> = []
        for row in readme.split(separator: "\n").map({ $0.split(separator: "|") }) where row.count == 3 && row[0].hasPrefix(" `") {
            for name in row[0].matches(of: /`([^`]+)`/).map({ String($0.1) }) {
                guard let target = targets.first(where: { $0.name == name }) else { continue }
                shown.insert(name)
                let imports = row[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                guard imports != ["all"] else { continue }
                #expect(Set(imports).subtracting(["–"]) == Set(target.ownDependencies), "\(name)")
            }
        }
        #expect(shown == Set(mayImport.keys).union(["coach-gateway"]))
    }

    @Test("every target of the table exists and has content")
    func targets() throws {
        let sources = Package.root.appendingPathComponent("Sources")
        let folders = Set(try FileManager.default.contentsOfDirectory(atPath: sources.path))
        #expect(folders == Set(mayImport.keys).union(["coach-gateway"]))
        for target in mayImport.keys where !target.hasPrefix("CLib") && !["CGatewayShims", "CPageFiles", "CVectorMath"].contains(target) {
            let lines = try Package.swiftFiles(under: "Sources/\(target)").map {
                try String(contentsOf: $0, encoding: .utf8).split(separator: "\n").count
            }
            #expect(lines.reduce(0, +) > 100, "\(target) is nearly empty")
        }
    }

    @Test(
        "no file of ModelProviders but the list of dialects names a type of one dialect; those that speak OpenAI's formats may use its types"
    )
    func dialects() throws {
        let path = "Sources/ModelProviders/Dialects"
        let folders = try Set(Package.swiftFiles(under: path).map { $0.deletingLastPathComponent() }).filter {
            $0.lastPathComponent != "Dialects"
        }
        #expect(folders.count >= 7)
        let sharing = ["OpenAIChat": ["AzureOpenAI", "OpenAICompatible", "OpenAIResponses"]]
        for folder in folders {
            let dialect = folder.lastPathComponent
            let types = try Package.swiftFiles(under: "\(path)/\(dialect)").flatMap { file in
                try String(contentsOf: file, encoding: .utf8)
                    .matches(of: /(?m)^(?:public |package |final )*(?:enum|struct|class|protocol|typealias) (\w+)/).map { String($0.1) }
            }
            #expect(!types.isEmpty, "\(dialect)")
            for file in try Package.swiftFiles(under: "Sources/ModelProviders") where file.lastPathComponent != "Dialect.swift" {
                let place = file.deletingLastPathComponent().lastPathComponent
                guard place != dialect, sharing[dialect]?.contains(place) != true else { continue }
                let words = try Set(
                    String(contentsOf: file, encoding: .utf8).split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
                #expect(
                    words.isDisjoint(with: types), "\(file.lastPathComponent) names \(words.intersection(types).sorted()) of \(dialect)")
            }
        }
    }

    @Test("CoachCore uses neither network nor files, and begins no tasks that outlive a call")
    func pureCore() throws {
        let forbidden = ["FileManager", "URLSession", "FileHandle", "contentsOfFile", "ProcessInfo"]
        let unstructured = /\bTask(<.*>)?\s*[({]|\bTask\.(detached|immediate)/
        for file in try Package.swiftFiles(under: "Sources/CoachCore") {
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in forbidden {
                #expect(!text.contains(word), "\(file.lastPathComponent) contains \(word)")
            }
            #expect(!text.contains(unstructured), "\(file.lastPathComponent) begins a task")
        }
    }
}

private enum Package {
    /// The checkout, found from the path of this file.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct Dump: Decodable {
        struct Target: Decodable {
            var name: String
            var type: String
            var path: String?
            var dependencies: [[String: [Entry?]]]

            /// A dependency entry is an array of a name and what belongs to it.
            enum Entry: Decodable {
                case text(String)
                case other
                init(from decoder: any Decoder) throws {
                    self = (try? decoder.singleValueContainer().decode(String.self)).map(Entry.text) ?? .other
                }
            }

            /// Names of targets of this package.
            var ownDependencies: [String] {
                dependencies.compactMap { dependency in
                    guard let entry = dependency["byName"]?.first ?? dependency["target"]?.first, case .text(let name)? = entry else {
                        return nil
                    }
                    return name
                }
            }
        }
        var targets: [Target]
    }

    static func dump() throws -> Dump {
        // A scratch path of its own: a `swift test` that runs these tests holds the lock of the usual one.
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("dump-package-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        let json = try ChildProcess.run([
            "swift", "package", "--package-path", root.path, "--scratch-path", scratch.path, "dump-package",
        ])
        return try JSONDecoder().decode(Dump.self, from: Data(json.utf8))
    }

    static func swiftFiles(under path: String) throws -> [URL] {
        let folder = root.appendingPathComponent(path)
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return all.filter { $0.pathExtension == "swift" }
    }

    static func imports(of file: URL) throws -> [String] {
        let prefixes: Set<Substring> = [
            "public", "package", "internal", "private", "fileprivate", "@preconcurrency", "@testable", "@_exported",
        ]
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").drop { prefixes.contains($0) || $0.hasPrefix("@_spi(") }
            guard words.first == "import", var module = words.dropFirst().first else { return nil }
            if ["struct", "class", "enum", "protocol", "func", "typealias", "var", "let"].contains(module) {
                module = words.dropFirst(2).first ?? ""
            }
            return String(module.split(separator: ".").first ?? "")
        }
    }
}
