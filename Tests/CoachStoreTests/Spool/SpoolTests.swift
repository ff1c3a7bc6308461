import CoachCore
import Foundation
import Synchronization
import Testing

@testable import CoachStore

@Suite("Spools on disk")
struct SpoolTests {
    /// A folder that is removed with the value.
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private static let statuses: [TurnStatus] = [.complete, .stopped, .interrupted, .failed]

    /// Receipts with every kind of content.
    private static func receipts() -> [TurnReceipt] {
        let identity = TurnIdentity(
            turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 3)
        let base = TurnReceipt.complete(identity, of: .someone(), "Grüße 👩🏽‍🚀 \"\\ \u{2028}\u{1}\n", risk: .danger(.imminent))
        var receipts: [TurnReceipt] = []
        func add(_ change: (inout TurnReceipt) -> Void) {
            var receipt = base
            change(&receipt)
            receipts.append(receipt)
        }
        for status in statuses { add { $0.status = status } }
        for reason in [FinishReason.stop, .length, .stopped, .safety, nil] { add { $0.finishReason = reason } }
        for domain in Domain.allCases {
            add { $0.domain = DomainDecision(domain: domain, confidence: 0.1 + 0.2, source: .conversation) }
        }
        for source in [DomainDecision.Source.pinned, .persona, .message, .conversation, .abstained] {
            add { $0.domain = DomainDecision(domain: nil, confidence: 1.0 / 3, source: source) }
        }
        for tier in RiskTier.allCases {
            add { $0.risk = RiskAssessment(tier: tier, categories: RiskCategory.allCases, subject: .other, patterns: ["a", "ü\""]) }
        }
        add { $0.risk = .calm }
        add { $0.bill = nil }
        add { $0.bill?.cost = nil }
        add { $0.bill?.usage = TokenUsage() }
        add { $0.bill?.estimated = true }
        add { $0.errorCode = "EXT_4001" }
        add { $0.timeToFirstTokenMilliseconds = nil }
        add { $0.content = "" }
        add { $0.content = String(repeating: "ß", count: 32_768) }
        add { $0.finalizedBy = .recovery }
        add { $0.otherCalls = [] }
        add { receipt in
            receipt.otherCalls = [
                BilledCall(number: 2, purpose: .judge, name: nil, bill: nil),
                BilledCall(number: 3, name: ModelName(provider: "p", model: "m"), bill: receipt.bill),
            ]
        }
        return receipts
    }

    @Test("every receipt is read back unchanged, oldest first")
    func roundTrip() throws {
        let folder = Folder()
        let receipts = Self.receipts()
        do {
            let spool = try ReceiptSpool.files(in: folder.url) { _ in }
            for receipt in receipts { _ = try spool.keep(receipt) }
        }
        let spool = try ReceiptSpool.files(in: folder.url) { Issue.record("\($0)") }
        let pending = try spool.pending([])
        #expect(pending.map(\.receipt) == receipts)
        #expect(try spool.pending([pending[0].handle]).map(\.receipt) == Array(receipts.dropFirst()))
        for entry in pending { spool.discard(entry.handle) }
        #expect(try spool.pending([]).isEmpty)
        spool.discard(pending[0].handle)
    }

    @Test("only the gateway's system user can read the slot and its files")
    func permissions() throws {
        let folder = Folder()
        let slot = try InstanceSlot(in: folder.url)
        let handle = try ReceiptSpool.files(in: slot.receipts) { _ in }.keep(Self.receipts()[0])
        func mode(_ url: URL) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
        }
        for url in [folder.url, slot.folder, slot.receipts] { #expect(try mode(url) == 0o700) }
        for url in [slot.receipts.appendingPathComponent(handle.name), slot.folder.appendingPathComponent("instance")] {
            #expect(try mode(url) == 0o600)
        }
    }

    @Test("a crash at any byte of a write loses no other receipt; a truncated file is reported and kept")
    func crash() throws {
        let folder = Folder()
        let slot = try InstanceSlot(in: folder.url)
        let reports = Mutex<[String]>([])
        func opened() throws -> ReceiptSpool {
            try ReceiptSpool.files(in: slot.receipts) { unreadable in reports.withLock { $0.append(unreadable.path) } }
        }
        let spool = try opened()
        let (older, newer) = (Self.receipts()[0], Self.receipts()[1])
        let handle = try spool.keep(older)
        let bytes = try Data(contentsOf: slot.receipts.appendingPathComponent(handle.name))
        _ = try spool.keep(newer)
        let unfinished = slot.receipts.appendingPathComponent(handle.name + ".unfinished")
        for length in stride(from: 0, to: bytes.count, by: 7) {
            try bytes.prefix(length).write(to: unfinished)
            reports.withLock { $0 = [] }
            // Each spool reports a file once.
            let later = try opened()
            #expect(try later.pending([]).map(\.receipt) == [older, newer] && later.pending([]).count == 2)
            #expect(reports.withLock { $0 } == [unfinished.path])
        }
        try bytes.write(to: unfinished)
        #expect(try spool.pending([]).map(\.receipt) == [older, older, newer])
        // A file that was truncated after the rename, by a file system that lost its end.
        try bytes.prefix(100).write(to: slot.receipts.appendingPathComponent(handle.name))
        #expect(try spool.pending([]).map(\.receipt) == [older, newer])
        #expect(FileManager.default.fileExists(atPath: slot.receipts.appendingPathComponent(handle.name).path))
    }

    @Test("a receipt of a later version, or with an unknown status, is reported and kept")
    func future() throws {
        let folder = Folder()
        let slot = try InstanceSlot(in: folder.url)
        let reports = Mutex<[String]>([])
        let spool = try ReceiptSpool.files(in: slot.receipts) { unreadable in reports.withLock { $0.append(unreadable.path) } }
        let file = slot.receipts.appendingPathComponent(try spool.keep(Self.receipts()[0]).name)
        let text = try String(contentsOf: file, encoding: .utf8)
        for (old, new) in [(#""version":1"#, #""version":2"#), (#""status":"complete""#, #""status":"postponed""#)] {
            try #require(text.contains(old))
            try text.replacingOccurrences(of: old, with: new).write(to: file, atomically: false, encoding: .utf8)
            reports.withLock { $0 = [] }
            let later = try ReceiptSpool.files(in: slot.receipts) { unreadable in reports.withLock { $0.append(unreadable.path) } }
            #expect(try later.pending([]).isEmpty)
            #expect(reports.withLock { $0 } == [file.path])
        }
    }

    @Test("an unwritable folder is an error with its path, and leaves no partial file")
    func refused() throws {
        let folder = Folder()
        let slot = try InstanceSlot(in: folder.url)
        let spool = try ReceiptSpool.files(in: slot.receipts) { _ in }
        try FileManager.default.removeItem(at: slot.receipts)
        let fault = try #require(throws: FileFault.self) { try spool.keep(Self.receipts()[0]) }
        #expect(fault.description.contains(slot.receipts.path))
    }

    @Test("anything in the folder that is not a receipt is reported and kept")
    func strangers() throws {
        let folder = Folder()
        let reports = Mutex<[String]>([])
        let spool = try ReceiptSpool.files(in: folder.url) { unreadable in reports.withLock { $0.append(unreadable.path) } }
        try FileManager.default.createDirectory(at: folder.url.appendingPathComponent("folder"), withIntermediateDirectories: false)
        for (name, text) in [("empty", ""), ("text", "hello"), ("list", "[]"), ("object", "{}")] {
            try Data(text.utf8).write(to: folder.url.appendingPathComponent(name))
        }
        #expect(try spool.pending([]).isEmpty)
        #expect(reports.withLock { $0 } == ["empty", "folder", "list", "object", "text"].map { folder.url.path + "/" + $0 })
    }

    @Test("a full disk is distinguished from other errors")
    func diskFull() {
        #expect(FileFault("write", "/x", code: ENOSPC) == .diskFull(path: "/x"))
        #expect(FileFault("fsync", "/x", code: EDQUOT) == .diskFull(path: "/x"))
        #expect(FileFault("write", "/x", code: EIO) == .failed(operation: "write", path: "/x", code: EIO))
        #expect(FileFault("write", "/x", code: ENOSPC).description == "/x: no space left on the disk")
    }

    @Test("records of calls are read back unchanged, oldest first, with mode 0600; a truncated one is set aside")
    func calls() throws {
        let folder = Folder()
        let reports = Mutex<[String]>([])
        let spool = try CallSpool.files(in: folder.url) { unreadable in reports.withLock { $0.append(unreadable.path) } }
        let calls = CallPurpose.allCases.enumerated().map { index, purpose in
            PendingCall(
                userID: .random(), turnID: .random(), attempt: index + 1, number: index * 1_000 + 2, purpose: purpose,
                day: CalendarDay(daysSinceEpoch: 20_000 + index))
        }
        let handles = try calls.map { try spool.keep($0) }
        #expect(try CallSpool.files(in: folder.url) { _ in }.pending().map(\.call) == calls)
        let path = folder.url.appendingPathComponent(handles[0].name).path
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for length in 0..<bytes.count {
            try bytes.prefix(length).write(to: URL(fileURLWithPath: path))
            #expect(try spool.pending().map(\.handle) == Array(handles.dropFirst()))
        }
        let rejected = path + ".rejected"
        #expect(reports.withLock { $0 } == [rejected] && !FileManager.default.fileExists(atPath: path))
        #expect(try Data(contentsOf: URL(fileURLWithPath: rejected)) == bytes.dropLast())
        spool.reject(handles[1])
        #expect(try spool.pending().map(\.handle) == Array(handles.dropFirst(2)))
        try bytes.write(to: URL(fileURLWithPath: rejected))
        #expect(try CallSpool.files(in: folder.url) { _ in }.pending().map(\.call) == calls)
        for handle in handles { spool.discard(handle) }
        #expect(try spool.pending().isEmpty)
    }

    @Test("a record that is being written is not read: each is delivered once, and none is refused")
    func callsWhileWriting() async throws {
        let folder = Folder()
        let reports = Mutex<[String]>([])
        let isOver = Mutex(false)
        let spool = try CallSpool.files(in: folder.url) { unreadable in reports.withLock { $0.append(unreadable.path) } }
        let call = PendingCall(
            userID: .random(), turnID: .random(), attempt: 1, number: 3, purpose: .answer, day: CalendarDay(daysSinceEpoch: 20_000))
        let writer = Task {
            defer { isOver.withLock { $0 = true } }
            for number in 3...202 {
                var next = call
                next.number = number
                _ = try spool.keep(next)
            }
        }
        var delivered: [Int] = []
        while true {
            let wasOver = isOver.withLock { $0 }
            for (handle, call) in try spool.pending() {
                delivered.append(call.number)
                spool.discard(handle)
            }
            if wasOver { break }
            await Task.yield()
        }
        try await writer.value
        #expect(delivered == Array(3...202) && reports.withLock { $0 } == [])
    }
}
