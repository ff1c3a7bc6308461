import Synchronization

/// Which script a request follows. The most particular wins: its own header, an instruction in its last user message, the next of the
/// queue, the default for all.
final class ScriptDesk: Sendable {
    private struct State {
        var standing: Script?
        var queue: [Script] = []
    }
    private let state: Mutex<State>

    /// Scripts waiting for a request; more are refused, so a forgotten test cannot fill the memory.
    static let longestQueue = 100_000

    init(standing: Script?) { state = Mutex(State(standing: standing)) }

    var standing: Script? {
        get { state.withLock { $0.standing } }
        set { state.withLock { $0.standing = newValue } }
    }

    var waiting: [Script] { state.withLock { $0.queue } }

    func enqueue(_ scripts: [Script]) throws(ScriptError) {
        let isAccepted = state.withLock { state in
            guard state.queue.count + scripts.count <= Self.longestQueue else { return false }
            state.queue += scripts
            return true
        }
        guard isAccepted else { throw ScriptError(description: "more than \(Self.longestQueue) scripts would wait") }
    }

    func clearQueue() { state.withLock { $0.queue = [] } }

    /// The script for a request. A script for another model stays where it is.
    func script(header: String?, for request: ChatRequest) throws(ScriptError) -> Script {
        if let header {
            let script = try Script(json: header.utf8)
            if script.applies(to: request.model) { return script }
        }
        if let script = try Script.embedded(in: request.lastUserText).last(where: { $0.applies(to: request.model) }) { return script }
        return state.withLock { state in
            if let index = state.queue.firstIndex(where: { $0.applies(to: request.model) }) { return state.queue.remove(at: index) }
            if let standing = state.standing, standing.applies(to: request.model) { return standing }
            return Script()
        }
    }
}

extension Script {
    fileprivate func applies(to model: String) -> Bool { self.model == nil || self.model == model }
}
