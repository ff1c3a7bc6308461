import CoachCore
import Synchronization

/// A model call whose whole answer is awaited.
final class SummaryCall: Sendable {
    private struct State {
        var answer = WholeAnswer()
        var generation: Generation?
    }

    private let state = Mutex(State())

    /// Cancelling the task cancels the call.
    static func run(_ prompt: Prompt, _ model: LanguageModel, _ beforeRequest: @escaping LanguageModel.BeforeRequest) async -> WholeAnswer {
        let call = SummaryCall()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let generation = model.generate(prompt, beforeRequest) { update in
                    if let answer = call.received(update) { continuation.resume(returning: answer) }
                    // Nothing is used before the end, so another provider may still begin anew.
                    return ReleaseState(isReleased: false)
                }
                call.state.withLock { if $0.answer.end == nil { $0.generation = generation } }
                if Task.isCancelled { generation.cancel() }
            }
        } onCancel: {
            call.state.withLock(\.generation)?.cancel()
        }
    }

    /// The whole answer with the last update.
    private func received(_ update: ModelUpdate) -> WholeAnswer? {
        state.withLock { state in
            state.answer.take(update)
            guard update.end != nil else { return nil }
            state.generation = nil
            return state.answer
        }
    }
}
