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
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        let generation = judge.model.generate(prompt, recorder.beforeRequest(.judge)) { update in
            reading.answer.withLock { $0.take(update, limit: Self.longestAnswer) }
            if update.end != nil { continuation.finish() }
            // Another provider may still answer.
            return ReleaseState(isReleased: false)
        }
        onStop { generation.cancel() }
        _ = await end.first(within: left)
        generation.cancel()
        let answer = reading.answer.withLock { $0 }
        let isWhole = answer.end.map { !$0.isFault && $0 != .filtered } ?? false
        return Result(
            verdict: isWhole ? RiskAssessment(verdict: answer.text) : nil, answer: answer, promptTokens: promptTokens,
            numbers: recorder.numbers(of: .judge))
    }

    /// The answer as it is read on the model's thread.
    private final class Reading: Sendable {
        let answer = Mutex(WholeAnswer())
    }
}
