/// The body of a response, in pieces as they arrive. What the app has not read yet waits in memory. Throws `CoachError` when the connection is lost;
/// a piece that is missing is not sent again. Releasing it, or cancelling the task that reads it, closes the connection.
public struct ResponseBytes: AsyncSequence, Sendable {
    let body: AsyncThrowingStream<[UInt8], any Error>

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var body: AsyncThrowingStream<[UInt8], any Error>.AsyncIterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> [UInt8]? {
            do {
                return try await body.next(isolation: actor)
            } catch {
                try Task.checkCancellation()
                throw CoachError.connectionLost("the connection was lost: \(error)")
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: body.makeAsyncIterator()) }
}
