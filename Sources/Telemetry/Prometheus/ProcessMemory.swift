import Glibc

/// The memory of this process at one time, from `/proc/self/statm` (proc(5)).
public struct ProcessMemory: Sendable {
    /// What is in memory.
    public let residentBytes: Int
    /// The part of it that belongs to files.
    public let fileBytes: Int

    /// Reads the current values; nil without `/proc`.
    public static func now() -> ProcessMemory? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = fread(&bytes, 1, bytes.count, file)
        // In pages: the address space, what is resident, and what of that belongs to files.
        let pages = bytes[..<count].split(separator: UInt8(ascii: " ")).map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 }
        guard pages.count > 2 else { return nil }
        let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
        return ProcessMemory(residentBytes: pages[1] * pageSize, fileBytes: pages[2] * pageSize)
    }
}
