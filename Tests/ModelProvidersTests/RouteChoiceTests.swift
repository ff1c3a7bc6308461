import CoachCore
import Foundation
import Reactor
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("Which provider is tried when")
struct RouteChoiceTests {
    @Test("weighted neighbours come first as often as their weights say; the others stay where they are")
    func weights() {
        var random = SeededGenerator(state: 7)
        let choices = [ModelChoice.of("first"), ModelChoice.of("a", weight: 3), ModelChoice.of("b", weight: 1), ModelChoice.of("last")]
        var counts: [String: Int] = [:]
        for _ in 0..<4000 {
            let drawn = choices.drawn(using: &random).map(\.name.provider)
            #expect(drawn.first == "first" && drawn.last == "last" && Set(drawn).count == 4)
            counts[drawn[1], default: 0] += 1
        }
        #expect((2850...3150).contains(counts["a"] ?? 0), "\(counts)")
        #expect([ModelChoice.of("x"), ModelChoice.of("y")].drawn(using: &random).map(\.name.provider) == ["x", "y"])
    }

    private static let persona = PersonaID.random()

    private static let routes = """
        {"providers": {"p": {"dialect": "openai", "base_url": "https://p.test"}},
         "routes": {"default": [{"provider": "p", "model": "standard", "max_output_tokens": 5},
                                {"provider": "p", "model": "small", "max_output_tokens": 5}],
                    "tier.paid": [{"provider": "p", "model": "large", "max_output_tokens": 5}],
                    "domain.relationships": [{"provider": "p", "model": "warm", "max_output_tokens": 5}],
                    "persona.\(persona)": [{"provider": "p", "model": "own", "max_output_tokens": 5}]}}
        """

    @Test(
        "the route is the persona's, else the domain's, else the tier's, else the default one; the first that has models of the tier, and only those"
    )
    func routes() throws {
        let (read, findings) = ModelConfiguration.read(Data(Self.routes.utf8), environment: [:])
        #expect(findings == [])
        let configuration = try #require(read)
        let models = TierModels.routes(
            configuration: configuration, keys: ProviderKeys(of: configuration, environment: [:]),
            transfers: TransferClient(reactor: try Reactor(name: "routes")))
        func model(_ tier: Tier, _ domain: Domain? = nil, _ persona: PersonaID? = nil) -> String {
            models.model(tier, domain, persona).firstChoice.model
        }
        #expect(model(Tier("free")) == "standard" && model(Tier("free"), .mindset, .random()) == "standard")
        #expect(model(Tier("free", models: ["small"])) == "small" && model(Tier("free", models: ["none"])) == "standard")
        #expect(model(Tier("paid")) == "large" && model(Tier("paid", models: ["small"])) == "small")
        let large = Tier("paid", models: ["large"])
        #expect(model(large, .relationships) == "large" && model(large, .relationships, Self.persona) == "large")
        #expect(model(Tier("free", models: ["warm", "small"]), .relationships) == "warm")
        #expect(model(Tier("paid"), .relationships) == "warm")
        #expect(model(Tier("paid"), .relationships, Self.persona) == "own")
    }

    @Test("every route of which a tier may use no model is named, with what answers instead")
    func unusable() throws {
        let configuration = try #require(ModelConfiguration.read(Data(Self.routes.utf8), environment: [:]).configuration)
        func lines(_ tier: Tier) -> [String] {
            TierModels.unusable(TierBook([tier]), in: configuration).map {
                String($0.dropFirst("tiers: \(tier.name): none of its models ".count))
            }
        }
        #expect(lines(Tier("paid")) == [])
        #expect(
            lines(Tier("paid", models: ["large", "own"])) == [
                "can be used in the default route, so it gets those of another route",
                "can be used in domain.relationships, so it gets those of another route",
            ])
        #expect(
            lines(Tier("free", models: ["warm"])) == [
                "can be used in the default route, so it gets all of them",
                "can be used in persona.\(Self.persona), so it gets all of them",
            ])
    }

    @Test("a route of a tier that does not exist is named, and that of a judge without settings")
    func unused() throws {
        func lines(_ tiers: [Tier], judge: String = "") throws -> [String] {
            let file = """
                {"providers": {"p": {"dialect": "openai", "base_url": "https://p.test"}}\(judge),
                 "routes": {"default": [{"provider": "p", "model": "m"}], "tier.paid": [{"provider": "p", "model": "large"}],
                            "judge": [{"provider": "p", "model": "j"}]}}
                """
            let (configuration, findings) = ModelConfiguration.read(Data(file.utf8), environment: [:])
            return TierModels.unused(TierBook(tiers), in: try #require(configuration, "\(findings)"))
        }
        let settings = #", "judge": {"route": "judge", "lowest_score": 0.02}"#
        #expect(
            try lines([Tier("free")]) == [
                "models: routes.judge is not used: judge does not name it", "models: routes.tier.paid is not used: no tier has this name",
            ])
        #expect(try lines([Tier("free"), Tier("paid")], judge: settings) == [])
    }
}

extension ModelChoice {
    static func of(_ provider: String, weight: Int? = nil) -> ModelChoice {
        ModelChoice(name: ModelName(provider: provider, model: "m"), weight: weight)
    }
}
