import CoachCore
import Foundation
import JSON

extension CallSpool {
    /// Records of model calls on disk, one file each.
    /// - Parameters:
    ///   - folder: `InstanceSlot.calls` of a slot that must be held as long as the spool is used. Created if missing.
    ///   - report: called once for each unreadable file that `pending` finds, with its path after it was rejected.
    /// - Throws: `FileFault`.
    public static func files(
        in folder: URL, report: @escaping @Sendable (SpoolFolder.Unreadable) -> Void
    ) throws -> CallSpool {
        let folder = try SpoolFolder(folder, content: "call")
        return CallSpool(
            keep: { call in try folder.keep(StoredCall(call), named: "\(call.turnID)-\(call.attempt)-\(call.number)") },
            discard: { handle in folder.discard(handle) },
            reject: { handle in folder.reject(handle) },
            pending: {
                let (stored, unreadable) = try folder.contents(of: StoredCall.self, rejectsMalformed: true)
                unreadable.forEach(report)
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
