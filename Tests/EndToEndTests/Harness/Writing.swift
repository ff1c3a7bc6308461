import Foundation

/// The output of a program: an unnamed file and not a pipe, so that nothing is lost and other child processes cannot keep it open.
final class Writing: Sendable {
    /// The file handle for the program.
    let descriptor: Int32

    init() throws {
        var path = Array((NSTemporaryDirectory() + "/coach-gateway-output-XXXXXX").utf8CString)
        let plain = mkstemp(&path)
        // In append mode, because both of the program's streams write to it.
        descriptor = open(path, O_RDWR | O_APPEND | O_CLOEXEC)
        close(plain)
        unlink(path)
        guard descriptor >= 0 else { throw Program.Failure(description: "no file for the output") }
    }

    deinit { close(descriptor) }

    /// All output so far.
    var text: String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count)), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
