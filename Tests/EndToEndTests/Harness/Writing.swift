import Foundation

/// What a program writes: a file without a name, so that nothing is lost at its end, and no other child holds a pipe open.
final class Writing: Sendable {
    /// For the program.
    let descriptor: Int32

    init() throws {
        var path = Array((NSTemporaryDirectory() + "/coach-gateway-output-XXXXXX").utf8CString)
        let plain = mkstemp(&path)
        // Both of a program's streams append, each at the end of the other.
        descriptor = open(path, O_RDWR | O_APPEND | O_CLOEXEC)
        close(plain)
        unlink(path)
        guard descriptor >= 0 else { throw Program.Failure(description: "no file for the output") }
    }

    deinit { close(descriptor) }

    /// Everything so far.
    var text: String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count)), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
