import CoachCore
import Foundation
import JSON
import Testing

@testable import ModelProviders

@Suite("ModelConfiguration")
struct ModelConfigurationTests {
    static let shipped =
        (try? Data(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/models.json").standardized))
        ?? Data()

    func read(_ environment: [String: String], _ file: Data = shipped) -> (configuration: ModelConfiguration?, findings: [String]) {
        ModelConfiguration.read(file, environment: environment)
    }

    @Test("with OpenAI's key, OpenAI answers")
    func openAI() {
        let (configuration, findings) = read(["OPENAI_API_KEY": "sk-1"])
        #expect(findings == [])
        #expect(configuration?.defaultRoute.choices.map(\.name) == [ModelName(provider: "openai", model: "gpt-6-luna")])
        // Reasons by default, and refuses a temperature while it does.
        #expect(configuration?.defaultRoute.first.temperature == nil)
        #expect(configuration?.defaultRoute.first.parameters == [JSONMember("reasoning_effort", "none")])
        #expect(configuration?.providers["openai"]?.baseURL == "https://api.openai.com/v1")
        #expect(configuration?.limits == CallLimits())
    }

    @Test("with the simulator's address alone, the simulator answers")
    func simulator() {
        let (configuration, findings) = read(["COACH_SIMULATOR_URL": "http://127.0.0.1:9000/"])
        #expect(findings == [])
        #expect(configuration?.defaultRoute.choices.map(\.name) == [ModelName(provider: "simulator", model: "sim-coach-1")])
        #expect(configuration?.providers["simulator"]?.baseURL == "http://127.0.0.1:9000/v1")
    }

    @Test("the simulator never stands in for a provider that can be used")
    func standIn() {
        let (configuration, _) = read(["COACH_SIMULATOR_URL": "http://127.0.0.1:9000", "OPENAI_API_KEY": "sk-1"])
        #expect(configuration?.defaultRoute.choices.map(\.name.provider) == ["openai"])
    }

    @Test("a compatible server needs no key, and its model can be named")
    func compatible() {
        let (configuration, findings) = read(["OPENAI_BASE_URL": "http://gpu:8000/openai/v1", "OPENAI_MODEL": "llama-3"])
        #expect(findings == [])
        #expect(configuration?.providers["openai"]?.baseURL == "http://gpu:8000/openai/v1")
        #expect(configuration?.defaultRoute.first.name.model == "llama-3")
    }

    @Test("another model in the place of the file's gets the file's parameters but those that it may refuse")
    func otherModel() throws {
        func choices(_ environment: [String: String], _ file: Data = Self.shipped) throws -> [ModelChoice] {
            try #require(read(environment, file).configuration).defaultRoute.choices
        }
        let keys = ["OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"]
        let others = try choices(keys.merging(["OPENAI_MODEL": "a", "ANTHROPIC_MODEL": "b", "GEMINI_MODEL": "c"]) { $1 })
        #expect(others.map(\.name.model) == ["a", "b", "c"] && others.allSatisfy { $0.maximumOutputTokens == 1024 })
        #expect(others.allSatisfy { $0.temperature == nil && $0.options.isEmpty && $0.parameters.isEmpty }, "\(others)")

        func choice(_ members: String, _ model: String, dialect: String) throws -> ModelChoice {
            let file = """
                {"providers": {"p": {"dialect": "\(dialect)", "base_url": "http://h:1"}},
                 "routes": {"default": [{"provider": "p", "model": "m", "model_env": "MODEL", "temperature": 0.7\(members)}]}}
                """
            return try #require(try choices(["MODEL": model], Data(file.utf8)).first)
        }
        let thinking = #", "thinking_budget": 0, "parameters": {"cachedContent": "x"}"#
        let (same, other) = (try choice(thinking, "m", dialect: "gemini"), try choice(thinking, "n", dialect: "gemini"))
        #expect(same.temperature == 0.7 && same.options == ["thinking_budget": 0])
        #expect(other.temperature == nil && other.options.isEmpty && other.parameters.map(\.key) == ["cachedContent"])
        for (name, isKept) in [("max_tokens", true), ("max_completion_tokens", false)] {
            let limited = try choice(#", "token_limit_field": "\#(name)""#, "n", dialect: "openai-compatible")
            let kept: [String: JSONValue] = isKept ? ["token_limit_field": .string(name)] : [:]
            #expect(limited.options == kept)
        }
        // A proxy in front of OpenAI, whose models reject the older name.
        for (model, isOpenAIs) in [("gpt-5-mini", true), ("openai/o4-mini", true), ("gpt-oss-20b", false), ("olmo-2", false)] {
            let behindProxy = try choices(["OPENAI_BASE_URL": "http://proxy:8000/v1", "OPENAI_MODEL": model])
            #expect(behindProxy.first?.options.isEmpty == !isOpenAIs, "\(model)")
        }
    }

    @Test("the shipped models have a price for each class of tokens that their providers bill")
    func shippedPrices() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/prices.json").standardized
        let prices = try #require(PriceBook.read(try Data(contentsOf: file)).book)
        let keys = ["OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"]
        let names = try #require(read(keys).configuration).defaultRoute.choices.map(\.name)
        #expect(names.map(\.provider) == ["openai", "anthropic", "gemini"])
        let day = try #require(CalendarDay("2026-12-01"))
        for name in names {
            // Gemini does not report what it writes to its cache.
            let written: Int? = name.provider == "gemini" ? nil : 1
            let usage = TokenUsage(input: 1, cachedInput: 1, cacheWrite: written, output: 1, reasoning: 1)
            #expect(prices.cost(of: usage, at: name, on: day) != nil, "\(name)")
        }
    }

    @Test("without a provider the finding says what to set")
    func nothing() {
        let (configuration, findings) = read(["OPENAI_API_KEY": "  \n"])
        #expect(configuration == nil)
        let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "COACH_SIMULATOR_URL"].joined(separator: " or ")
        #expect(findings == ["models: routes.default has no provider that can be used; set \(keys)"])
    }

    @Test("a key that cannot be sent is named, not shown")
    func badKey() {
        let (_, findings) = read(["OPENAI_API_KEY": "sk-1\u{7}secret"])
        #expect(findings == ["OPENAI_API_KEY: contains a character that cannot stand in a header"])
    }

    @Test("a key in the place of its variable's name is rejected, not shown", arguments: ["api_key_env", "base_url_env", "proxy_env"])
    func keyAsName(member: String) {
        let file = """
            {"providers": {"a": {"dialect": "openai", "base_url": "http://h:1", "\(member)": "sk-canary"}},
             "routes": {"default": [{"provider": "a", "model": "m"}]}}
            """
        #expect(
            read([:], Data(file.utf8)).findings.first == "models: providers.a.\(member) must be the name of an environment variable")
        #expect(!read([:], Data(file.utf8)).findings.contains { $0.contains("canary") })
    }

    @Test("a variable that is set may have any name")
    func nameOfSetVariable() {
        let file = """
            {"providers": {"a": {"dialect": "openai", "base_url": "http://h:1", "api_key_env": "team-a.key"}},
             "routes": {"default": [{"provider": "a", "model": "m"}]}}
            """
        #expect(read(["team-a.key": "sk-one"], Data(file.utf8)).findings == [])
    }

    @Test("a bad address is named by the variable that brought it")
    func badAddress() {
        #expect(
            read(["OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "gpu:8000"]).findings.first == "OPENAI_BASE_URL: not an http or https address")
    }

    @Test("all findings are reported at once")
    func findings() {
        let file = """
            {"routes": {"default": [{"provider": "b", "model": "m", "max_output_tokens": 0}, {"provider": "c", "model": "m", "max_output_tokens": 5}], "x": []},
             "providers": {"a": {"dialect": "klingon", "base_url": "ftp://x", "key": "sk"}}, "limits": {"connect_ms": "1", "foo": 2}, "extra": 1}
            """
        #expect(
            read([:], Data(file.utf8)).findings == [
                "models: providers.a.dialect must be \(Dialect.all.map(\.name).joined(separator: " or "))",
                "models: providers.a.key is unknown",
                "models: providers.a.base_url must be an http or https address",
                "models: limits.connect_ms must be a whole number from 1 to 3600000",
                "models: limits.foo is unknown",
                "models: routes.default[0].max_output_tokens must be a whole number from 1 to 1000000",
                "models: routes.default[1].provider must be one of the providers, not c",
                "models: routes.x must be default, judge, tier.NAME, domain.NAME or persona.ID",
                "models: routes.x must have 1 to 100 elements, has 0",
                "models: extra is unknown",
            ])
        #expect(read([:], Data("[]".utf8)).findings == ["models: must be of type object"])
        #expect(read([:], Data("{}".utf8)).findings == ["models: providers is required", "models: routes is required"])
        let noDefault = read([:], Data(#"{"providers": {}, "routes": {}}"#.utf8))
        #expect(noDefault.configuration == nil)
        #expect(noDefault.findings == ["models: routes.default is required"])
    }

    @Test("an answer may have 1,024 tokens unless the model's entry says otherwise")
    func longestAnswers() throws {
        let file = """
            {"providers": {"a": {"dialect": "openai", "base_url": "http://h:1"}},
             "routes": {"default": [{"provider": "a", "model": "m"}, {"provider": "a", "model": "long", "max_output_tokens": 8000}],
                        "tier.paid": [{"provider": "a", "model": "m", "max_output_tokens": 2000}]}}
            """
        let configuration = try #require(read([:], Data(file.utf8)).configuration)
        #expect(configuration.defaultRoute.choices.map(\.maximumOutputTokens) == [1_024, 8_000])
        let names = ["m", "long"].map { ModelName(provider: "a", model: $0) }
        #expect(configuration.longestAnswers == [names[0]: 2_000, names[1]: 8_000], "of all routes")
    }

    @Test("a judge has a route and a lowest score, and waits 600 ms at most; there is none by default")
    func judge() {
        #expect(self.read(["OPENAI_API_KEY": "k"]).configuration?.judge == nil)
        func read(_ judge: String) -> (configuration: ModelConfiguration?, findings: [String]) {
            let file = """
                {"providers": {"a": {"dialect": "openai", "base_url": "http://h:1"}}, "judge": \(judge),
                 "routes": {"default": [{"provider": "a", "model": "m", "max_output_tokens": 9}],
                            "judge": [{"provider": "a", "model": "j", "max_output_tokens": 9}]}}
                """
            return self.read([:], Data(file.utf8))
        }
        let judge = read(#"{"route": "judge", "lowest_score": 0.02}"#).configuration?.judge
        #expect(judge?.route.first.name.model == "j" && judge?.lowestScore == 0.02 && judge?.timeLimit == .milliseconds(600))
        #expect(
            read(#"{"route": "x", "lowest_score": 2, "time_limit_ms": 601}"#).findings == [
                "models: judge.lowest_score must be a number from 0.0 to 1.0",
                "models: judge.time_limit_ms must be a whole number from 1 to 600", "models: judge.route must be one of the routes",
            ])
    }

    @Test("addresses are normalised, odd ones refused")
    func addresses() {
        #expect(BaseURL.normalized("http://h:1", path: "/v1") == "http://h:1/v1")
        #expect(BaseURL.normalized("http://h:1/", path: "/v1") == "http://h:1/v1")
        #expect(BaseURL.normalized("HTTPS://H.test/A/b//", path: "/v1") == "https://h.test/A/b")
        // As `Host` is sent.
        for port in [":443", ":", ""] { #expect(BaseURL.normalized("https://h\(port)", path: "") == "https://h") }
        #expect(BaseURL.normalized("http://[::1]:80/x", path: "") == "http://[::1]/x")
        for text in ["https://h:80", "http://h:443"] { #expect(BaseURL.normalized(text, path: "") == text) }
        for text in [
            "", "h", "http://", "http:///v1", "ftp://h", "http://h/?q", "http://h#f", "http://u:p@h", "http://h /v1", "http://h\n",
        ] {
            #expect(BaseURL.normalized(text, path: "/v1") == nil, "\(text)")
        }
    }

    @Test("keys are trimmed, and shown by nothing that prints")
    func keys() throws {
        let environment = ["OPENAI_API_KEY": " sk-canary\n"]
        let keys = ProviderKeys(of: try #require(read(environment).configuration), environment: environment)
        #expect(keys["OPENAI_API_KEY"] == "sk-canary")
        #expect(keys["COACH_SIMULATOR_KEY"] == nil)
        var dumped = ""
        dump(keys, to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), dumped] { #expect(!text.contains("canary")) }
    }

    @Test("hedging and the least latency are options of routes and choices")
    func options() throws {
        func read(_ choice: String, _ hedged: String) -> (configuration: ModelConfiguration?, findings: [String]) {
            let file = """
                {"providers": {"p": {"dialect": "openai", "base_url": "https://p.test"}}, "hedged_routes": [\(hedged)],
                 "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5\(choice)}]}}
                """
            return ModelConfiguration.read(Data(file.utf8), environment: [:])
        }
        let both = try #require(read(#", "least_latency": true"#, #""default""#).configuration)
        #expect(both.defaultRoute.isHedged && both.defaultRoute.first.wantsLeastLatency)
        let neither = try #require(read("", "").configuration)
        #expect(!neither.defaultRoute.isHedged && !neither.defaultRoute.first.wantsLeastLatency)
        #expect(read("", #""other""#).findings == ["models: hedged_routes must be of the routes, not other"])
        #expect(read(#", "least_latency": true, "weight": 2"#, "").configuration == nil)
    }

    @Test("where zero retention is required, a compatible server must have the parameters stated that ask for it")
    func statedOptOut() throws {
        func read(_ members: String, required: Bool = true) -> (configuration: ModelConfiguration?, findings: [String]) {
            let file = """
                {"require_zero_retention": \(required), "providers":
                   {"p": {"dialect": "openai-compatible", "base_url": "https://p.test", "zero_retention": true\(members)}},
                 "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5}]}}
                """
            return ModelConfiguration.read(Data(file.utf8), environment: [:])
        }
        let findings = read("").findings
        #expect(findings.first?.hasPrefix("models: providers.p.parameters must have what tells this server") == true, "\(findings)")
        #expect(read("", required: false).findings == [] && read(#", "parameters": {}"#).findings == [])
        let stated = read(#", "parameters": {"store": false, "provider": {"data_collection": "deny"}}"#)
        #expect(stated.findings == [])
        #expect(try #require(stated.configuration?.providers["p"]).parameters.map(\.key) == ["store", "provider"])
    }

    @Test("where zero retention is required, only a provider that states it can be used")
    func zeroRetention() {
        func findings(_ statement: String) -> [String] {
            let file = """
                {"require_zero_retention": true, "providers": {"p": {"dialect": "openai", "base_url": "https://p.test"\(statement)}},
                 "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5}]}}
                """
            return ModelConfiguration.read(Data(file.utf8), environment: [:]).findings
        }
        #expect(
            findings("") == ["models: routes.default has no provider that can be used; set models: providers.p.zero_retention"])
        #expect(findings(#", "zero_retention": true"#) == [])
    }
}
