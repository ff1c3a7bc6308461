import CoachCore
import Synchronization
import TokenRelay

/// One call of the safety judge: the model that assesses a message near the threshold of the crisis resources (`SafetyJudge`).
struct JudgeCall: Sendable {
    /// The verdict, and the usage to bill.
    struct Result: Sendable {
        /// nil: no verdict within the time limit, or none that makes sense.
        let verdict: RiskAssessment?
        let answer: WholeAnswer
        let promptTokens: Int
        /// Under which its calls were recorded.
        let numbers: [Int]
    }

    /// A verdict is shorter.
    private static let longestAnswer = 2_048
    /// How long a cancelled call may take to report its end, which tells what its providers bill.
    private static let longestEnd = Duration.milliseconds(50)

    let judge: SafetyJudge

    /// Waits for the verdict, at most the time limit, or until the turn is stopped; then the call is cancelled. nil: none was made, because it could
    /// not be recorded in time.
    /// - Parameter onStop: calls its argument once the turn is to stop.
    func run(_ prompt: Prompt, _ recorder: CallRecorder, onStop: (@escaping @Sendable () -> Void) -> Void) async -> Result? {
        let start = ContinuousClock.now
        guard await recorder.record(.judge) else { return nil }
        let left = judge.timeLimit - start.duration(to: .now)
        guard left > .zero else { return nil }
        let promptTokens = TokenEstimate.tokens(in: prompt)
        let reading = Reading()
        let generation = judge.model.generate(prompt, recorder.beforeRequest(.judge)) { update in
            reading.take(update, limit: Self.longestAnswer)
            // Another provider may still answer.
            return ReleaseState(isReleased: false)
        }
        onStop { generation.cancel() }
        await reading.waitForEnd(atMost: left)
        generation.cancel()
        await reading.waitForEnd(atMost: Self.longestEnd)
        let answer = reading.answer
        let isWhole = answer.end.map { !$0.isFault && $0 != .filtered } ?? false
        return Result(
            verdict: isWhole ? RiskAssessment(verdict: answer.text) : nil, answer: answer, promptTokens: promptTokens,
            numbers: recorder.numbers(of: .judge))
    }

    /// The answer as it is read on the model's thread.
    private final class Reading: Sendable {
        private struct State {
            var answer = WholeAnswer()
            var onEnd: AsyncStream<Void>.Continuation?
        }
        private let state = Mutex(State())

        var answer: WholeAnswer { state.withLock(\.answer) }

        func take(_ update: ModelUpdate, limit: Int) {
            let onEnd = state.withLock { state in
                state.answer.take(update, limit: limit)
                return update.end == nil ? nil : state.onEnd
            }
            onEnd?.finish()
        }

        func waitForEnd(atMost limit: Duration) async {
            let (end, continuation) = AsyncStream.makeStream(of: Void.self)
            let isEnded = state.withLock { state in
                state.onEnd = continuation
                return state.answer.end != nil
            }
            if !isEnded { _ = await end.first(within: limit) }
        }
    }
}
