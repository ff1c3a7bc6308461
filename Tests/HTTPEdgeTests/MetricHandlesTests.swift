import Synchronization
import Testing

@testable import HTTPEdge

@Suite("MetricHandles")
struct MetricHandlesTests {
    @Test("a handle is made once for each key, also by concurrent callers")
    func once() async {
        final class Handle: Sendable {}
        let made = Mutex<[Int]>([])
        let handles = MetricHandles { (key: Int) in
            made.withLock { $0.append(key) }
            return Handle()
        }
        await withTaskGroup { group in
            for number in 0..<100 { group.addTask { _ = handles[number % 3] } }
        }
        #expect(made.withLock { $0.sorted() } == [0, 1, 2])
        #expect(handles[0] === handles[0] && handles[0] !== handles[1])
    }
}
