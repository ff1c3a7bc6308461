import CoachCore
import Synchronization
import TokenRelay

/// One call of the safety judge: the model that assesses a message near the threshold of the crisis resources (`SafetyJudge`).
struct JudgeCall: Sendable {
    /// The verdict, and the usage to bill.
    struct Result: Sendable {
        /// nil: no verdict within the time limit, or none that makes sense.
        var verdict: RiskAssessment?
        var calls = CallTally()
        var promptTokens: Int
        var text: [UInt8] = []
        /// Under which its calls were recorded.
        var numbers: [Int] = []
        fileprivate var hasEnded = false
    }

    /// A verdict is shorter.
    private static let longestAnswer = 2_048

    let judge: SafetyJudge

    /// Waits for the verdict, at most the time limit, or until the turn is stopped; then the call is cancelled. nil: none was made, because it could
    /// not be recorded in time.
    /// - Parameter onStop: calls its argument once the turn is to stop.
    func run(_ prompt: Prompt, _ recorder: CallRecorder, onStop: (@escaping @Sendable () -> Void) -> Void) async -> Result? {
        let start = ContinuousClock.now
        guard await recorder.record(.judge) else { return nil }
        let left = judge.timeLimit - start.duration(to: .now)
        guard left > .zero else { return nil }
        let answer = Answer(promptTokens: TokenEstimate.tokens(in: prompt))
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        let generation = judge.model.generate(prompt, recorder.beforeRequest(.judge)) { update in
            answer.take(update)
            if update.end != nil { continuation.finish() }
            // Another provider may still answer.
            return ReleaseState(isReleased: false)
        }
        onStop { generation.cancel() }
        _ = await end.first(within: left)
        generation.cancel()
        var result = answer.result
        result.numbers = recorder.numbers(of: .judge)
        if result.hasEnded { result.verdict = RiskAssessment(verdict: result.text) }
        return result
    }

    /// Gathers the answer on the model's thread.
    private final class Answer: Sendable {
        private let state: Mutex<Result>
        var result: Result { state.withLock { $0 } }

        init(promptTokens: Int) { state = Mutex(Result(promptTokens: promptTokens)) }

        func take(_ update: ModelUpdate) {
            state.withLock { state in
                state.calls.take(update)
                if update.acceptedBy != nil { state.text = [] }
                state.text += update.text.prefix(JudgeCall.longestAnswer - state.text.count)
                if let end = update.end, !end.isFault, end != .filtered { state.hasEnded = true }
            }
        }
    }
}
