import CoachCore
import Logging
import Testing

@testable import ChatAPI

@Suite("A call of the judge")
struct JudgeCallTests {
    private static let name = ModelName(provider: "simulator", model: "judge")

    private var recorder: CallRecorder {
        let spool = CallSpool(keep: { _ in CallSpool.Handle(name: "1") }, discard: { _ in }, reject: { _ in }, pending: { [] })
        let records = CallRecordStore(
            ledger: CallLedger { _ in true }, spool: spool, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let facts = TurnFacts.sample
        return CallRecorder(records, facts.userID, facts.identity, on: facts.day, requestID: "r")
    }

    private let prompt = Prompt(messages: [.init(role: .user, content: "hello")], maximumOutputTokens: 10)

    @Test("one that is given up at its time limit is billed by what its end reports")
    func givenUp() async throws {
        // Which call was accepted is told at the end only, a moment after the cancel.
        let model = LanguageModel(firstChoice: Self.name) { _, _, receive in
            Generation {
                Task {
                    try? await Task.sleep(for: .milliseconds(1))
                    _ = receive(ModelUpdate(unusedCalls: [UnusedCall(name: Self.name, isAccepted: true)], end: .cancelled))
                }
            }
        }
        let billing = CallBilling(prices: LiveValue(PriceBook([])), ratios: TokenRatios())
        var bill: TurnBill?
        // One of some tries: on a busy machine the end may come too late.
        for _ in 1...10 where bill == nil {
            let call = JudgeCall(judge: SafetyJudge(model: model, lowestScore: 0, timeLimit: .milliseconds(200)))
            guard let result = await call.run(prompt, recorder, onStop: { _ in }) else { continue }
            #expect(result.verdict == nil)
            bill = billing.bills(result, on: CalendarDay(unixSeconds: 0)).first?.bill
        }
        #expect(bill?.name == Self.name && bill?.estimated == true)
    }

    @Test("one that ends in time is not waited for")
    func answered() async throws {
        let model = LanguageModel(firstChoice: Self.name) { _, _, receive in
            let verdict = Array(#"{"tier": 2, "category": "suicide", "subject": "self"}"#.utf8)
            _ = verdict.withUnsafeBufferPointer { receive(ModelUpdate(acceptedBy: Self.name, text: $0, end: .stop)) }
            return Generation {}
        }
        let call = JudgeCall(judge: SafetyJudge(model: model, lowestScore: 0, timeLimit: .seconds(600)))
        let result = try #require(await call.run(prompt, recorder, onStop: { _ in }))
        #expect(result.verdict?.tier == .crisis && result.answer.calls.answeredBy == Self.name)
    }
}
