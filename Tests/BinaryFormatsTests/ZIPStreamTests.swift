import BinaryFormats
import Foundation
import TestSupport
import Testing

@Suite("ZIP archives")
struct ZIPStreamTests {
    @Test("the checksum is that of ZIP, however the content is split")
    func checksum() {
        var whole = CRC32()
        whole.update(Array("123456789".utf8))
        #expect(whole.value == 0xCBF4_3926, "the check value of CRC-32/ISO-HDLC")
        var pieces = CRC32()
        for byte in "123456789".utf8 { pieces.update([byte]) }
        #expect(pieces.value == whole.value && CRC32().value == 0)
    }

    /// Names and sizes of the entries as Python's `zipfile` reads them, after it has checked all of them.
    private func entries(_ archive: [UInt8]) throws -> [String] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).zip")
        try Data(archive).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import sys, zipfile
            z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None
            for i in z.infolist(): print(i.filename, i.file_size)
            """
        return try ChildProcess.run(["python3", "-c", script, file.path]).split(separator: "\n").map(String.init)
    }

    @Test("an archive that is written in pieces is read by another implementation")
    func archive() throws {
        var stream = ZIPStream()
        var bytes = stream.begin("empty.jsonl") + stream.end() + stream.begin("ü.jsonl")
        for _ in 0..<100 { bytes += stream.write(Array("{\"a\":1}\n".utf8)) }
        #expect(stream.entryBytes == 800)
        bytes += stream.end()
        bytes += stream.finish()
        #expect(try entries(bytes) == ["empty.jsonl 0", "ü.jsonl 800"])
        var nothing = ZIPStream()
        #expect(try entries(nothing.finish()) == [])
    }

    @Test("more than 65,535 entries need ZIP64")
    func many() throws {
        var stream = ZIPStream()
        var bytes: [UInt8] = []
        for number in 0..<65_536 { bytes += stream.begin("\(number)") + stream.end() }
        bytes += stream.finish()
        #expect(try entries(bytes).count == 65_536)
    }
}
