import Synchronization

/// Selects the script of a request: that of its header, else that in its last user message, else the next in the queue, else the default.
final class ScriptQueue: Sendable {
    private struct State {
        var defaultScript: Script?
        var queue: [Script] = []
    }
    private let state: Mutex<State>
    private let prefixCache = PrefixCache()

    /// The most queued scripts; more are rejected, so that a test that never uses them cannot fill the memory.
    static let maximumQueueLength = 100_000

    init(defaultScript: Script?) { state = Mutex(State(defaultScript: defaultScript)) }

    var defaultScript: Script? {
        get { state.withLock { $0.defaultScript } }
        set { state.withLock { $0.defaultScript = newValue } }
    }

    var queued: [Script] { state.withLock { $0.queue } }

    func enqueue(_ scripts: [Script]) throws(ScriptError) {
        let isAccepted = state.withLock { state in
            guard state.queue.count + scripts.count <= Self.maximumQueueLength else { return false }
            state.queue += scripts
            return true
        }
        guard isAccepted else { throw ScriptError(description: "more than \(Self.maximumQueueLength) scripts would wait") }
    }

    func clearQueue() { state.withLock { $0.queue = [] } }

    /// The script for a request. Skips scripts for other models and leaves them in the queue.
    func script(header: String?, for request: ChatRequest) throws(ScriptError) -> Script {
        var script = try chosenScript(header: header, for: request)
        if script.prefixCache == true {
            let (read, written) = prefixCache.look(up: request)
            (script.cachedTokens, script.cacheWriteTokens) = (read, written)
        }
        return script
    }

    private func chosenScript(header: String?, for request: ChatRequest) throws(ScriptError) -> Script {
        if let header {
            let script = try Script(json: header.utf8)
            if script.applies(to: request.model) { return script }
        }
        if let script = try Script.embedded(in: request.lastUserText).last(where: { $0.applies(to: request.model) }) { return script }
        return state.withLock { state in
            if let index = state.queue.firstIndex(where: { $0.applies(to: request.model) }) { return state.queue.remove(at: index) }
            if let defaultScript = state.defaultScript, defaultScript.applies(to: request.model) { return defaultScript }
            return Script()
        }
    }
}

extension Script {
    fileprivate func applies(to model: String) -> Bool { self.model == nil || self.model == model }
}
