import CoachCore
import TokenRelay

/// Makes the port to the models: calls follow the default route, or the one given.
///
/// `transfers` decides the thread on which updates are delivered. Keys are held, sent to their provider, and never printed.
public func makeLanguageModel(
    configuration: ModelConfiguration, route: Route? = nil, keys: ProviderKeys, transfers: TransferPool
) -> LanguageModel {
    let route = route ?? configuration.defaultRoute
    let router = ModelRouter(configuration: configuration, route: route, keys: keys, transfers: transfers)
    let secure = route.choices.compactMap { configuration.providers[$0.name.provider] }
        .filter { $0.route == .direct && $0.baseURL.lowercased().hasPrefix("https:") }
    for authorityFile in Set(secure.map(\.authorityFile)) { transfers.prepare(authorityFile: authorityFile) }
    return LanguageModel(firstChoice: route.first.name) { prompt, receive in
        let call = transfers.bind(ModelCall(prompt: prompt, router: router, receive: receive))
        call.submit { $0.begin() }
        return Generation {
            call.submit { $0.cancel() }
        }
    }
}

/// What the calls of a route change. Belongs to the transfers' thread.
final class SharedCallState {
    /// What a call reads at present: emptied before each reading and handed over after it, so all calls share one buffer that stays in the cache.
    var update = ParsedUpdate()
    var breakers: [String: CircuitBreaker] = [:]
}

/// What the calls of a route share.
final class ModelRouter: Sendable {
    let route: Route
    let limits: CallLimits
    let transfers: TransferPool
    private let configuration: ModelConfiguration
    let keys: ProviderKeys
    private let shared: TransferBound<SharedCallState>

    init(configuration: ModelConfiguration, route: Route, keys: ProviderKeys, transfers: TransferPool) {
        self.configuration = configuration
        self.route = route
        limits = configuration.limits
        self.keys = keys
        self.transfers = transfers
        shared = transfers.bind(SharedCallState())
    }

    /// Only on the transfers' thread.
    var state: SharedCallState { shared.current }

    /// The choices in the order in which a call beginning now tries them: healthy providers before those with an open circuit.
    func order(at now: Moment) -> [ModelChoice] {
        var admitted: [ModelChoice] = []
        var last: [ModelChoice] = []
        for choice in route.choices {
            let provider = choice.name.provider
            // Only the first choice uses up a probe: no other is sure to be called.
            let isAdmitted =
                admitted.isEmpty ? state.breakers[provider, default: .init()].admits(at: now) : state.breakers[provider]?.isClosed ?? true
            if isAdmitted { admitted.append(choice) } else { last.append(choice) }
        }
        return admitted + last
    }

    /// A prompt in every dialect of this route's providers: failover needs no more time for it. Any thread.
    func encode(_ prompt: Prompt) -> [Dialect: EncodedPrompt] {
        let dialects = Set(route.choices.compactMap { provider(of: $0)?.dialect })
        return Dictionary(uniqueKeysWithValues: dialects.map { ($0, $0.encode(prompt)) })
    }

    func noteSuccess(of provider: String) {
        state.breakers[provider]?.succeeded()
    }

    func noteFailure(of provider: String, at now: Moment) {
        state.breakers[provider, default: .init()].failed(at: now)
    }

    /// nil when the configuration does not know the provider, which its loader rules out.
    func provider(of choice: ModelChoice) -> Provider? { configuration.providers[choice.name.provider] }
}
