import BinaryFormats
import ChatAPI
import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

/// The archive of a user, made piece by piece. Memory is bounded by a page of the largest rows; no transaction stays open between pieces. Rows that
/// are added meanwhile may be missing.
struct AccountExport: Sendable {
    struct Sources: Sendable {
        let profiles: ContextProfileRepository
        let contents: ExportRepository
    }

    private enum Stage {
        case account
        case profile
        /// The page after a key; nil: the first.
        case consents(Int64?)
        case reports(ReportID?)
        case redemptions(PersonaID?)
        case personas(PersonaID?)
        case conversations(ConversationID?)
        case messages(MessageID?)
        case directory
        case ended
    }

    /// Rows of a page. An answer has at most 64 KiB.
    private static let pageLimit = 200

    private let sources: Sources
    private let caller: Caller
    private let account: AccountRecord
    private var archive = ZIPStream()
    private var stage = Stage.account
    /// Of the current list: more than one when it is too large for one.
    private var files = 1

    init(_ sources: Sources, _ caller: Caller, _ account: AccountRecord) {
        self.sources = sources
        self.caller = caller
        self.account = account
    }

    /// The next piece; nil after the last. Throws `StoreFault`.
    mutating func next() async throws -> [UInt8]? {
        switch stage {
        case .account:
            stage = .profile
            return file("account.jsonl", [MeResource(account)])
        case .profile:
            stage = .consents(nil)
            let versions = try await sources.profiles.history(caller, nil, Self.pageLimit)
            return file("context-profile.jsonl", versions.map { ContextProfileResource($0) })
        case .consents(let last):
            let rows = try await sources.contents.consents(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .reports(nil) : .consents(rows.last?.sequence)
            return page("consents", rows.map { ConsentResource($0.decision) }, isFirst: last == nil, isLast: isLast)
        case .reports(let last):
            let rows = try await sources.contents.reports(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .redemptions(nil) : .reports(rows.last?.id)
            return page("reports", rows.map { ReportResource($0) }, isFirst: last == nil, isLast: isLast)
        case .redemptions(let last):
            let rows = try await sources.contents.redemptions(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .personas(nil) : .redemptions(rows.last?.personaID)
            return page("redemptions", rows.map { RedemptionResource($0) }, isFirst: last == nil, isLast: isLast)
        case .personas(let last):
            let rows = try await sources.contents.personas(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .conversations(nil) : .personas(rows.last?.id)
            return page("personas", rows.map { PersonaResource($0) }, isFirst: last == nil, isLast: isLast)
        case .conversations(let last):
            let rows = try await sources.contents.conversations(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .messages(nil) : .conversations(rows.last?.id)
            return page("conversations", rows.map { ConversationResource($0) }, isFirst: last == nil, isLast: isLast)
        case .messages(let last):
            let rows = try await sources.contents.messages(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .directory : .messages(rows.last?.message.id)
            return page("messages", rows.map { FoundMessageResource($0) }, isFirst: last == nil, isLast: isLast)
        case .directory:
            stage = .ended
            return archive.finish()
        case .ended:
            return nil
        }
    }

    /// A whole file.
    private mutating func file(_ name: String, _ resources: [some WireResource]) -> [UInt8] {
        archive.begin(name) + archive.write(Self.lines(resources)) + archive.end()
    }

    /// A page of a list, in a file of its own when it does not fit into the current one.
    private mutating func page(_ name: String, _ resources: [some WireResource], isFirst: Bool, isLast: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        if isFirst {
            files = 1
            bytes += archive.begin("\(name).jsonl")
        }
        let lines = Self.lines(resources)
        if archive.entryBytes + lines.count > ZIPStream.maximumEntryBytes {
            files += 1
            bytes += archive.end() + archive.begin("\(name)-\(files).jsonl")
        }
        bytes += archive.write(lines)
        if isLast { bytes += archive.end() }
        return bytes
    }

    private static func lines(_ resources: [some WireResource]) -> [UInt8] {
        var lines: [UInt8] = []
        for resource in resources {
            JSONWriter.append(to: &lines) { resource.write(to: &$0) }
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}

extension ConsentResource {
    /// A decision, whatever chat needs.
    fileprivate init(_ decision: ConsentRecord) {
        self.init(
            kind: decision.kind.rawValue, required: false, granted: decision.isGranted, version: decision.version,
            decidedAt: Timestamp(decision.decidedAt))
    }
}

extension RedemptionResource {
    fileprivate init(_ redemption: ExportedRedemption) {
        self.init(personaID: redemption.personaID.uuid, redeemedAt: Timestamp(redemption.redeemedAt))
    }
}

extension FoundMessageResource {
    init(_ message: ExportedMessage) {
        self.init(conversationID: message.conversationID.uuid, message: MessageResource(message.message))
    }
}
