import CoachCore
import Foundation
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("CheckpointCursors")
struct CheckpointCursorsTests {
    @Test("each tick collects only new text, and the facts of the turn until text is saved")
    func increments() {
        let model = FakeModel()
        var facts = TurnFacts.sample
        // A turn's complete text is saved at one tick in 32, which its id decides: with this id not at one of the first four.
        facts.identity.turnID = TurnID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 16)))
        let turn = model.turn(facts)
        var cursors = CheckpointCursors()
        let first = cursors.tick([turn])
        #expect(first.count == 1 && first[0].start != nil && first[0].text.isEmpty && first[0].fromByte == 0)
        cursors.saved(first, as: nil)
        #expect(cursors.tick([turn]).isEmpty)
        model.emit("hé")
        let second = cursors.tick([turn])
        #expect(second.count == 1 && second[0].start != nil && second[0].text == Array("hé".utf8) && second[0].fromByte == 0)
        // The tick failed: the next one has the same text and the text since.
        model.emit("llo")
        let third = cursors.tick([turn])
        #expect(third[0].text == Array("héllo".utf8) && third[0].fromByte == 0)
        cursors.saved(third, as: 1)
        model.emit("!")
        let fourth = cursors.tick([turn])
        #expect(fourth[0].start == nil && fourth[0].text == Array("!".utf8) && fourth[0].fromByte == 6)
    }

    @Test("after a save of which nobody knows whether it succeeded, the turn's text is saved from its first byte, with its facts")
    func unknown() {
        let model = FakeModel()
        var facts = TurnFacts.sample
        facts.identity.turnID = TurnID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 16)))
        let turn = model.turn(facts)
        var cursors = CheckpointCursors()
        model.emit("hello")
        cursors.saved(cursors.tick([turn]), as: 1)
        model.emit(", you")
        let lost = cursors.tick([turn])
        #expect(lost[0].fromByte == 5)
        cursors.failed(lost)
        model.emit("!")
        let next = cursors.tick([turn])
        #expect(next[0].text == Array("hello, you!".utf8) && next[0].fromByte == 0 && next[0].start != nil)
        cursors.saved(next, as: 3)
        model.emit("!")
        #expect(cursors.tick([turn])[0].fromByte == 11)
    }

    @Test("a model that accepts the call after an opening was saved is saved with the next text, once")
    func opening() {
        let model = FakeModel()
        var facts = TurnFacts.sample
        facts.identity.turnID = TurnID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 16)))
        let turn = model.turn(facts, opening: "I'm here.", isAccepted: false)
        var cursors = CheckpointCursors()
        let first = cursors.tick([turn])
        #expect(first[0].start != nil && first[0].text == Array("I'm here.".utf8) && first[0].start?.answeredBy == nil)
        cursors.saved(first, as: 1)
        model.accept()
        model.emit("Hi")
        let second = cursors.tick([turn])
        #expect(second[0].start?.answeredBy?.model == "sim" && second[0].text == Array("\n\nHi".utf8) && second[0].fromByte == 9)
        cursors.saved(second, as: 2)
        model.emit("!")
        #expect(cursors.tick([turn])[0].start == nil)
    }

    @Test("a model that accepts the call after a checkpoint without text is saved before its text: a crash while it thinks is billed")
    func thinking() {
        let model = FakeModel()
        let turn = model.turn(isAccepted: false)
        var cursors = CheckpointCursors()
        cursors.saved(cursors.tick([turn]), as: nil)
        #expect(cursors.tick([turn]).isEmpty)
        model.accept()
        let second = cursors.tick([turn])
        #expect(second.count == 1 && second[0].text.isEmpty && second[0].start?.answeredBy?.model == "sim")
        cursors.saved(second, as: nil)
        #expect(cursors.tick([turn]).isEmpty)
    }

    @Test("a call that came to nothing is saved, once, also without text; a model whose answer is void is not the answering one")
    func unusedCalls() {
        let model = FakeModel()
        let turn = model.turn(recordedCalls: { [3, 5] })
        var cursors = CheckpointCursors()
        let first = cursors.tick([turn])
        #expect(first[0].start?.answeredBy?.model == "sim" && first[0].start?.unusedCalls == [])
        cursors.saved(first, as: nil)
        let call = UnusedCall(name: ModelName(provider: "simulator", model: "sim"), isAccepted: true)
        model.tell([call])
        let second = cursors.tick([turn])
        #expect(second.count == 1 && second[0].start != nil && second[0].start?.unusedCalls == [call] && second[0].start?.answeredBy == nil)
        #expect(second[0].start?.recordedCalls == [3, 5])
        cursors.saved(second, as: nil)
        #expect(cursors.tick([turn]).isEmpty)
    }

    @Test("each turn is saved completely once in an interval, at different ticks; earlier checkpoints are not needed")
    func wholes() {
        let models = (0..<64).map { _ in FakeModel() }
        let turns = models.map { $0.turn() }
        for model in models { model.emit("hello") }
        var cursors = CheckpointCursors()
        #expect(cursors.neededFrom == .max)
        cursors.saved(cursors.tick(turns), as: 100)
        #expect(cursors.neededFrom == 100)
        var written: [TurnID: Int] = [:]
        let interval = Int64(CheckpointCursors.wholeInterval)
        for id in 1...interval {
            // One of the turns produces text.
            models[0].emit("!")
            let batch = cursors.tick(turns)
            #expect(batch.count < turns.count)
            for progress in batch where progress.fromByte == 0 {
                #expect(progress.start == nil && progress.text.starts(with: "hello".utf8))
                written[progress.identity.turnID, default: 0] += 1
            }
            // A failed tick saves nothing, and the one before is still needed.
            if id > 1 { cursors.saved(batch, as: 100 + id) }
        }
        #expect(written.count == turns.count && written.values.allSatisfy { $0 == 1 })
        for id in interval + 1...2 * interval { cursors.saved(cursors.tick(turns), as: 100 + id) }
        #expect(cursors.neededFrom > 100 + interval)
        #expect(cursors.tick([]).isEmpty && cursors.neededFrom == .max)
    }

    @Test("a turn that has ended is removed, and its next attempt begins at byte 0")
    func forgets() {
        let model = FakeModel()
        let turn = model.turn()
        var cursors = CheckpointCursors()
        cursors.saved(cursors.tick([turn]), as: nil)
        #expect(cursors.tick([]).isEmpty)
        #expect(cursors.tick([turn]).first?.start != nil)
    }
}

extension CheckpointCursors {
    /// A tick whose text fits into one statement.
    fileprivate mutating func tick(_ turns: [LiveTurn]) -> [TurnProgress] {
        begin(turns)
        var rest = turns[...]
        return collect(&rest, limit: .max)
    }
}
