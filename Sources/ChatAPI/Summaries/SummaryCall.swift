import CoachCore
import Synchronization

/// A model call whose whole answer is awaited.
final class SummaryCall: Sendable {
    /// The model's whole answer, with the usage to bill.
    struct Answer: Sendable {
        var calls = CallTally()
        var text: [UInt8] = []
        var end = ModelEnd.cancelled
    }

    private struct State {
        var answer = Answer()
        var generation: Generation?
        var isOver = false
    }

    private let state = Mutex(State())

    /// Cancelling the task cancels the call.
    static func run(_ prompt: Prompt, _ model: LanguageModel, _ beforeRequest: @escaping LanguageModel.BeforeRequest) async -> Answer {
        let call = SummaryCall()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let generation = model.generate(prompt, beforeRequest) { update in
                    if let answer = call.received(update) { continuation.resume(returning: answer) }
                    // Nothing is used before the end, so another provider may still begin anew.
                    return ReleaseState(isReleased: false)
                }
                call.state.withLock { if !$0.isOver { $0.generation = generation } }
                if Task.isCancelled { generation.cancel() }
            }
        } onCancel: {
            call.state.withLock(\.generation)?.cancel()
        }
    }

    /// The whole answer with the last update.
    private func received(_ update: ModelUpdate) -> Answer? {
        state.withLock { state in
            state.answer.calls.take(update)
            if update.acceptedBy != nil { state.answer.text = [] }
            state.answer.text.append(contentsOf: update.text)
            guard let end = update.end else { return nil }
            state.answer.end = end
            state.isOver = true
            state.generation = nil
            return state.answer
        }
    }
}
