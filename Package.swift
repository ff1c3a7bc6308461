// swift-tools-version: 6.2
// The targets of the gateway, and which may import which. Tests/ArchitectureTests checks them
// against its table and against README's.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// Tests of the release build, which is what `deploy/test` tests, are not optimised themselves: they run once.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude,
        swiftSettings: strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))])
}

extension Target.Dependency {
    static let nio: Self = .product(name: "NIOCore", package: "swift-nio")
    static let nioPosix: Self = .product(name: "NIOPosix", package: "swift-nio")
    static let nioEmbedded: Self = .product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1: Self = .product(name: "NIOHTTP1", package: "swift-nio")
    static let hummingbird: Self = .product(name: "Hummingbird", package: "hummingbird")
    static let logging: Self = .product(name: "Logging", package: "swift-log")
    static let metrics: Self = .product(name: "CoreMetrics", package: "swift-metrics")
    static let tracing: Self = .product(name: "Tracing", package: "swift-distributed-tracing")
    static let serviceLifecycle: Self = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let argumentParser: Self = .product(name: "ArgumentParser", package: "swift-argument-parser")
}

let package = Package(
    name: "coach-gateway",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "coach-gateway", targets: ["coach-gateway"]),
        .library(name: "CoachClient", targets: ["CoachClient"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        // Without its traits: the gateway reads its own configuration, and swift-configuration is 48 files to build.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.4.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        // Leaves: they import no other target, except that of JSON.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CLibSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CGatewayShims"),
        // The files of the pages are in the executable, which can be copied by itself.
        .target(name: "CPageFiles", exclude: ["Static"], cSettings: [.unsafeFlags(["-std=c23"])]),
        // Optimised also while the rest is debugged: it is arithmetic alone.
        .target(name: "CVectorMath", cSettings: [.unsafeFlags(["-O2"], .when(configuration: .debug))]),
        module("JSON"),
        module("BinaryFormats"),
        module("OpenSSLCrypto", ["CLibSSL"]),
        module("EventStream", ["JSON"]),
        module("Telemetry", ["JSON", .logging, .metrics, .tracing]),
        module("CoachCore", ["BinaryFormats", "CVectorMath", "JSON"]),
        module("ModelTraining", ["BinaryFormats", "CoachCore", "JSON"]),

        module("GatewayAPI", ["JSON", "EventStream"], exclude: ["README.md"]),
        module("Reactor", ["CGatewayShims"]),
        module("PostgresClient", ["CLibPQ", "JSON", "Reactor"]),
        module("BackgroundJobs", ["CoachCore", .logging, .metrics, .serviceLifecycle]),
        module("OutboundHTTP", ["CLibCurl", "Reactor"], exclude: ["README.md"]),
        module("CoachStore", ["CoachCore", "JSON", "PostgresClient"]),
        module("TokenRelay", ["CoachCore", "CLibSSL", "Reactor", "OutboundHTTP"], exclude: ["README.md"]),
        module("ModelProviders", ["BinaryFormats", "CoachCore", "JSON", "EventStream", "OpenSSLCrypto", "TokenRelay"]),
        module("Identity", ["CoachCore", "JSON", "OpenSSLCrypto", "OutboundHTTP"]),
        module("Webhooks", ["HTTPEdge", "CoachCore", "JSON", "OpenSSLCrypto", "OutboundHTTP", .hummingbird]),
        module(
            "HTTPEdge",
            [
                "CoachCore", "GatewayAPI", "JSON", "Identity", .hummingbird, .nio, .nioPosix, .nioHTTP1, .logging, .metrics,
                .serviceLifecycle,
            ], exclude: ["README.md"]),
        module(
            "ChatAPI",
            [
                "HTTPEdge", "BackgroundJobs", "CoachCore", "GatewayAPI", "JSON", "EventStream", "OpenSSLCrypto", "TokenRelay", .hummingbird,
                .nio, .nioPosix, .logging, .metrics, .tracing, .serviceLifecycle,
            ]),
        module("AccountAPI", ["HTTPEdge", "BinaryFormats", "CoachCore", "GatewayAPI", "JSON", "ChatAPI", .hummingbird]),
        module(
            "OperatorAPI", ["CPageFiles", "HTTPEdge", "CoachCore", "GatewayAPI", "JSON", "EventStream", "OpenSSLCrypto", .hummingbird]),
        module("PersonaAPI", ["HTTPEdge", "CoachCore", "GatewayAPI", "JSON", .hummingbird, .nioPosix]),
        module("CoachClient", ["GatewayAPI", "JSON", "EventStream"], exclude: ["README.md"]),
        module(
            "ProviderSimulator", ["BinaryFormats", "JSON", .nio, .nioPosix, .nioHTTP1, .serviceLifecycle], exclude: ["README.md"]),
        .executableTarget(
            name: "coach-gateway",
            dependencies: [
                "CoachCore", "GatewayAPI", "JSON", "CGatewayShims", "Reactor", "PostgresClient", "CoachStore",
                "BackgroundJobs", "OutboundHTTP", "TokenRelay", "ModelProviders", "Identity", "Webhooks", "Telemetry", "HTTPEdge",
                "ChatAPI", "AccountAPI", "OperatorAPI", "PersonaAPI", "CoachClient", "ModelTraining",
                "ProviderSimulator", .nio, .nioPosix, .logging, .metrics, .tracing, .serviceLifecycle, .argumentParser,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "coach-bench", dependencies: ["CGatewayShims", "CLibSSL", "JSON", "OpenSSLCrypto", .argumentParser],
            swiftSettings: strict),

        // One test target for each target; TestSupport has what several of them share, such as real PostgreSQL clusters.
        .target(name: "TestSupport", dependencies: ["Reactor"], path: "Tests/TestSupport", swiftSettings: strict),
        .target(
            name: "HTTPTestServers", dependencies: ["TestSupport"], path: "Tests/HTTPTestServers", exclude: ["Servers"],
            swiftSettings: strict),
        .target(
            name: "RelayTestSupport", dependencies: ["TokenRelay", "CoachCore", "Reactor", "TestSupport"], path: "Tests/RelayTestSupport",
            swiftSettings: strict),
        // What stores sign.
        .target(
            name: "WebhookTestSupport", dependencies: ["CLibSSL", "CoachCore", "JSON"], path: "Tests/WebhookTestSupport",
            swiftSettings: strict),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("BinaryFormatsTests", ["BinaryFormats", "TestSupport"]),
        tests("OpenSSLCryptoTests", ["OpenSSLCrypto", "CoachCore"]),
        tests("EventStreamTests", ["EventStream", "TestSupport"]),
        tests("GatewayAPITests", ["GatewayAPI", "JSON", "EventStream", "TestSupport"]),
        tests("TelemetryTests", ["Telemetry", "JSON", "TestSupport", .logging, .metrics, .tracing]),
        tests("CoachCoreTests", ["CoachCore", "JSON", "TestSupport"], exclude: ["Golden", "Safety/Cases"]),
        tests("ModelTrainingTests", ["ModelTraining", "CoachCore"]),
        tests("ReactorTests", ["Reactor", "TestSupport"]),
        tests("PostgresClientTests", ["PostgresClient", "Reactor", "TestSupport"]),
        tests("CoachStoreTests", ["CoachStore", "CoachCore", "JSON", "PostgresClient", "Reactor", "Webhooks", "TestSupport"]),
        tests("BackgroundJobsTests", ["BackgroundJobs", "CoachCore", "JSON", "TestSupport", .logging, .serviceLifecycle]),
        tests(
            "TokenRelayTests",
            [
                "TokenRelay", "OutboundHTTP", "CoachCore", "Reactor", "TestSupport", "RelayTestSupport", "HTTPTestServers",
            ]),
        tests(
            "ModelProvidersTests",
            [
                "ModelProviders", "TokenRelay", "BinaryFormats", "CoachCore", "JSON", "Reactor", "ProviderSimulator",
                "TestSupport", "RelayTestSupport",
                .nioPosix,
            ]),
        tests("OutboundHTTPTests", ["OutboundHTTP", "Reactor", "TestSupport", "HTTPTestServers"]),
        tests(
            "IdentityTests",
            ["Identity", "CoachCore", "JSON", "OutboundHTTP", "TestSupport", "HTTPTestServers", "WebhookTestSupport"]),
        tests(
            "WebhooksTests",
            ["Webhooks", "CoachCore", "JSON", "OpenSSLCrypto", "OutboundHTTP", "HTTPTestServers", "WebhookTestSupport"]),
        tests(
            "HTTPEdgeTests",
            ["HTTPEdge", "CoachCore", "GatewayAPI", "JSON", "Identity", .hummingbird, .nio, .nioEmbedded, .nioPosix, .nioHTTP1, .logging]),
        tests("ChatAPITests", ["ChatAPI", "CoachCore", "GatewayAPI", "JSON", "EventStream", "TokenRelay", "TestSupport", .logging]),
        tests("ProviderSimulatorTests", ["ProviderSimulator", "JSON", "TestSupport", .nio, .nioPosix, .nioHTTP1]),
        tests("AccountAPITests", ["AccountAPI", "CoachCore", "GatewayAPI", "JSON"]),
        tests("CoachClientTests", ["CoachClient", "GatewayAPI", "JSON"]),
        tests("CoachBenchTests", ["coach-bench"]),
        tests("ArchitectureTests", ["TestSupport"]),
        tests(
            "CoachGatewayTests",
            [
                "coach-gateway", "CGatewayShims", "CoachCore", "CoachStore", "GatewayAPI", "JSON", "OperatorAPI", "PostgresClient",
                "Reactor", "RelayTestSupport", "TestSupport", "TokenRelay", .logging,
            ]),
        // Without the executable, which every build of the tests makes: so neither waits for the other.
        tests(
            "EndToEndTests",
            [
                "TestSupport", "HTTPTestServers", "CoachClient", "GatewayAPI", "CoachCore", "JSON", "Webhooks", "WebhookTestSupport",
            ],
            exclude: [
                "KeepAlive/Clients", "OpenAPI/openapi.py", "OpenAPI/cases.py", "OpenAPI/persona_life.py", "Traces/otlp_collector.py",
                "Pages/Scripts", "OfficialClients",
            ]),

        // What micro-benchmarks repeat, and what deploy/instructions counts.
        .target(
            name: "BenchmarkWorkloads", dependencies: ["JSON", "EventStream", "GatewayAPI", "CoachCore", "TokenRelay", "ModelProviders"],
            path: "Tests/Benchmarks/Workloads", swiftSettings: strict),
        .target(
            name: "IdentityWorkloads", dependencies: ["BenchmarkWorkloads", "Identity"], path: "Tests/Benchmarks/IdentityWorkloads",
            swiftSettings: strict),
        .executableTarget(
            name: "instruction-counts", dependencies: ["BenchmarkWorkloads"], path: "Tests/Benchmarks/InstructionCounts/Core",
            swiftSettings: strict),
        .executableTarget(
            name: "identity-instruction-counts", dependencies: ["BenchmarkWorkloads", "IdentityWorkloads"],
            path: "Tests/Benchmarks/InstructionCounts/Identity", swiftSettings: strict),
    ]
)

// The same workloads by the clock, with a tool that is nobody's business but who asks for it: COACH_BENCHMARKS=1 swift package benchmark.
if Context.environment["COACH_BENCHMARKS"] != nil {
    // Without its traits it brings no allocator of its own: what is measured is what is shipped.
    package.dependencies.append(.package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []))
    package.targets.append(
        .executableTarget(
            name: "MicroBenchmarks",
            dependencies: ["BenchmarkWorkloads", "IdentityWorkloads", .product(name: "Benchmark", package: "benchmark")],
            path: "Tests/Benchmarks/Timing", swiftSettings: strict,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]))
}
