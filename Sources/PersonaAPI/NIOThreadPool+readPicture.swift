import CoachCore
import GatewayAPI
import HTTPEdge
import NIOPosix

extension NIOThreadPool {
    /// Reads an uploaded picture off the event loops, because decoding takes milliseconds. A flaw of the picture becomes `VAL_3001` of the field.
    func readPicture<Value: Sendable>(field: String, _ read: @escaping @Sendable () throws -> Value) async throws -> Value {
        do {
            return try await runIfActive(read)
        } catch let flaw as AvatarImage.Flaw {
            throw GatewayError(.invalidInput, flaw.text).naming(field: field)
        }
    }
}
