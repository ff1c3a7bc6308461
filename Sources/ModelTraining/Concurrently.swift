import Dispatch
import Synchronization

/// The values of elements, in their order, computed on all processors.
public func concurrently<Element: Sendable, Value: Sendable>(_ elements: [Element], _ value: @Sendable (Element) -> Value) -> [Value] {
    let values = Mutex<[Int: Value]>([:])
    DispatchQueue.concurrentPerform(iterations: elements.count) { index in
        let value = value(elements[index])
        values.withLock { $0[index] = value }
    }
    return values.withLock { values in elements.indices.compactMap { values[$0] } }
}
