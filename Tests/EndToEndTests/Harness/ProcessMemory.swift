import Foundation
import Testing

/// The memory of a process by proc(5), in bytes.
struct ProcessMemory {
    let process: Int32

    /// What is resident now.
    func resident() throws -> Int { try field("VmRSS") }

    /// The most that was resident since the process began, or since `forgetPeak`.
    func peak() throws -> Int { try field("VmHWM") }

    /// The peak becomes what is resident now. A gateway's first peak is that of its start, when it reads the files of the encoders: growth
    /// that is measured from there is hidden below it, and growth from what is resident has it added.
    func forgetPeak() throws {
        // A proc file is written to, not replaced, which `write(toFile:)` would try.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/\(process)/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
    }

    private func field(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(name):") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
    }
}
