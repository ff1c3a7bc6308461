extension AsyncStream where Element: Sendable {
    /// The first element within a time limit. Nil when none came in time, the stream ended, or the task was cancelled.
    public func first(within timeout: Duration) async -> Element? {
        await withTaskGroup(of: Element?.self) { group in
            group.addTask {
                for await element in self { return element }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
