import CoachCore
import Foundation
import JSON
import Synchronization

/// Stores records of model calls on disk, one file each, whose requests could not wait for the database.
public final class FileCallSpool: Sendable {
    private let folder: SpoolFolder
    /// The paths of unreadable files that were reported.
    private let reported = Mutex<Set<String>>([])

    /// - Parameter folder: `InstanceSlot.calls` of a slot that must be held as long as the spool is used. Created if missing.
    /// - Throws: `FileFault`.
    public init(folder: URL) throws { self.folder = try SpoolFolder(folder, content: "call") }

    /// The port. `report` is called once for each unreadable file that `pending` finds, with its path after
    /// it was rejected.
    public func spool(report: @escaping @Sendable (SpoolFolder.Unreadable) -> Void) -> CallSpool {
        CallSpool(
            keep: { [folder] call in try folder.keep(StoredCall(call), named: "\(call.turnID)-\(call.attempt)-\(call.number)") },
            discard: { [folder] handle in folder.discard(handle) },
            reject: { [folder] handle in folder.reject(handle) },
            pending: { [self] in
                let (stored, unreadable) = try folder.contents(of: StoredCall.self, rejectsMalformed: true)
                for file in unreadable where reported.withLock({ $0.insert(file.path).inserted }) { report(file) }
                return stored.map { ($0.handle, $0.value.call) }
            })
    }
}

/// The record of a model call as a file of the spool.
private struct StoredCall: StoredWritable, JSONReadable {
    /// The version of the file format. Reading another version is an error.
    static let version = 1

    let call: PendingCall

    init(_ call: PendingCall) { self.call = call }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("version", Self.version)
            json.field("user_id", call.userID)
            json.field("turn_id", call.turnID)
            json.field("attempt", call.attempt)
            json.field("call", call.number)
            json.field("purpose", call.purpose.rawValue)
            json.field("day", call.day.description)
        }
    }

    init(_ json: JSONReader) throws(JSONFinding) {
        _ = try json.required("version", .integer(Self.version...Self.version))
        call = PendingCall(
            userID: try json.required("user_id"), turnID: try json.required("turn_id"), attempt: try json.required("attempt"),
            number: try json.required("call"), purpose: try json.required("purpose", .choice), day: try json.required("day"))
    }
}
