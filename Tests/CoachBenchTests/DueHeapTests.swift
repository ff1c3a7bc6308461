import Testing

@testable import coach_bench

@Suite("The heap of due writes")
struct DueHeapTests {
    @Test("entries pushed in any order are popped in the order of their times")
    func order() {
        var heap = DueHeap(capacity: 1000)
        var dues: [UInt64] = []
        for index in 0..<1000 {
            let due = UInt64.random(in: 0..<500)
            dues.append(due)
            heap.push(.init(due: due, connection: Int32(index), serial: UInt32(due)))
        }
        var left: [UInt64] = []
        while let first = heap.first {
            #expect(first.serial == UInt32(first.due))
            left.append(first.due)
            heap.pop()
        }
        #expect(left == dues.sorted())
    }

    @Test("an emptied heap can be filled again")
    func emptied() {
        var heap = DueHeap(capacity: 2)
        for due in [2, 1] as [UInt64] { heap.push(.init(due: due, connection: 0, serial: 0)) }
        heap.pop()
        heap.pop()
        #expect(heap.first == nil && heap.count == 0)
        heap.push(.init(due: 7, connection: 3, serial: 1))
        #expect(heap.first?.connection == 3)
    }
}
