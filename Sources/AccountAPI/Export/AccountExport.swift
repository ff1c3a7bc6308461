import BinaryFormats
import ChatAPI
import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

/// The archive of a user, made piece by piece. Memory is bounded by a page of the largest rows; no transaction stays open between pieces. Rows that
/// are added meanwhile may be missing. Conversations follow the messages, so that one that begins meanwhile has no messages without it.
struct AccountExport: Sendable {
    struct Sources: Sendable {
        let profiles: ContextProfileRepository
        let contents: ExportRepository
        let subscription: @Sendable (Caller) async throws -> SubscriptionResource
    }

    private enum Stage {
        case account
        /// The page below a version; nil: the first.
        case profile(Int64?)
        /// The page after a key; nil: the first.
        case consents(Int64?)
        case reports(ReportID?)
        case redemptions(PersonaID?)
        case personas(PersonaID?)
        case messages(MessageID?)
        case conversations(ConversationID?)
        case subscription
        case modelCalls(String?)
        /// The lists that are left, and the key in the first of them.
        case rows(ArraySlice<ExportedList>, String?)
        case avatars(PersonaID?)
        case directory
        case ended
    }

    /// Rows of a page. An answer has at most 64 KiB.
    private static let pageLimit = 200
    /// A version has at most 48 KB.
    private static let profileLimit = 100

    private let sources: Sources
    private let caller: Caller
    private let account: AccountRecord
    private var archive = ZIPStream()
    private var stage = Stage.account
    /// The number of files of the current list: more than one when it is too large for one.
    private var files = 1

    init(_ sources: Sources, _ caller: Caller, _ account: AccountRecord) {
        self.sources = sources
        self.caller = caller
        self.account = account
    }

    /// The next piece; nil after the last. Throws `StoreFault`, and `Rejection` when the user's removal began meanwhile.
    mutating func next() async throws -> [UInt8]? {
        switch stage {
        case .account:
            stage = .profile(nil)
            return file("account.jsonl", [MeResource(account)])
        case .profile(let last):
            let versions = try await sources.profiles.history(caller, last, Self.profileLimit)
            return page(
                "context-profile", versions, limit: Self.profileLimit, isFirst: last == nil, next: { .profile($0.version) },
                end: .consents(nil)
            ) { ContextProfileResource($0) }
        case .consents(let last):
            let rows = try await sources.contents.consents(caller, last, Self.pageLimit)
            return page("consents", rows, isFirst: last == nil, next: { .consents($0.sequence) }, end: .reports(nil)) {
                ConsentResource($0.decision)
            }
        case .reports(let last):
            let rows = try await sources.contents.reports(caller, last, Self.pageLimit)
            return page("reports", rows, isFirst: last == nil, next: { .reports($0.id) }, end: .redemptions(nil)) { ReportResource($0) }
        case .redemptions(let last):
            let rows = try await sources.contents.redemptions(caller, last, Self.pageLimit)
            return page("redemptions", rows, isFirst: last == nil, next: { .redemptions($0.personaID) }, end: .personas(nil)) {
                RedemptionResource($0)
            }
        case .personas(let last):
            let rows = try await sources.contents.personas(caller, last, Self.pageLimit)
            return page("personas", rows, isFirst: last == nil, next: { .personas($0.id) }, end: .messages(nil)) { PersonaResource($0) }
        case .messages(let last):
            let rows = try await sources.contents.messages(caller, last, Self.pageLimit)
            return page("messages", rows, isFirst: last == nil, next: { .messages($0.message.id) }, end: .conversations(nil)) {
                FoundMessageResource($0)
            }
        case .conversations(let last):
            let rows = try await sources.contents.conversations(caller, last, Self.pageLimit)
            return page("conversations", rows, isFirst: last == nil, next: { .conversations($0.id) }, end: .subscription) {
                ConversationResource($0)
            }
        case .subscription:
            stage = .modelCalls(nil)
            return file("subscription.jsonl", [try await sources.subscription(caller)])
        case .modelCalls(let last):
            let rows = try await sources.contents.modelCalls(caller, last, Self.pageLimit)
            let isLast = rows.count < Self.pageLimit
            stage = isLast ? .rows(ExportedList.allCases[...], nil) : .modelCalls(rows.last?.key)
            return page("model-calls", lines: Self.lines(rows), isFirst: last == nil, isLast: isLast)
        case .rows(let lists, let last): return try await nextRows(of: lists, after: last)
        case .avatars(let last): return try await nextAvatar(after: last)
        case .directory:
            // A removal refuses the user before it takes the first row: without this an archive that lacks rows would look whole.
            guard try await sources.contents.isUserActive(caller) else { throw Rejection(reason: .suspended) }
            stage = .ended
            return archive.finish()
        case .ended:
            return nil
        }
    }

    private mutating func nextRows(of lists: ArraySlice<ExportedList>, after last: String?) async throws -> [UInt8]? {
        guard let list = lists.first else {
            stage = .avatars(nil)
            return try await next()
        }
        let rows = try await sources.contents.rows(caller, list, last, list.pageLimit)
        let isLast = rows.count < list.pageLimit
        stage = isLast ? .rows(lists.dropFirst(), nil) : .rows(lists, rows.last?.key)
        return page(list.rawValue, lines: Self.lines(rows), isFirst: last == nil, isLast: isLast)
    }

    private mutating func nextAvatar(after last: PersonaID?) async throws -> [UInt8]? {
        guard let avatar = try await sources.contents.avatar(caller, last) else {
            stage = .directory
            return try await next()
        }
        stage = .avatars(avatar.personaID)
        return file("avatars/\(avatar.personaID).\(avatar.image.format.fileExtension)", bytes: avatar.image.bytes)
    }

    /// A whole file.
    private mutating func file(_ name: String, _ resources: [some WireResource]) -> [UInt8] {
        file(name, bytes: Self.lines(resources))
    }

    private mutating func file(_ name: String, bytes: [UInt8]) -> [UInt8] { archive.begin(name) + archive.write(bytes) + archive.end() }

    /// A page of a list. The stage after a full page is the next page after its last row, else `end`.
    private mutating func page<Element, Resource: WireResource>(
        _ name: String, _ rows: [Element], limit: Int = AccountExport.pageLimit, isFirst: Bool, next: (Element) -> Stage, end: Stage,
        _ resource: (Element) -> Resource
    ) -> [UInt8] {
        let isLast = rows.count < limit
        stage = isLast ? end : rows.last.map(next) ?? end
        return page(name, lines: Self.lines(rows.map(resource)), isFirst: isFirst, isLast: isLast)
    }

    /// A page of a list, in a file of its own when it does not fit into the current one.
    private mutating func page(_ name: String, lines: [UInt8], isFirst: Bool, isLast: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        if isFirst {
            files = 1
            bytes += archive.begin("\(name).jsonl")
        }
        if archive.entryBytes + lines.count > ZIPStream.maximumEntryBytes {
            files += 1
            bytes += archive.end() + archive.begin("\(name)-\(files).jsonl")
        }
        bytes += archive.write(lines)
        if isLast { bytes += archive.end() }
        return bytes
    }

    private static func lines(_ rows: [ExportedRow]) -> [UInt8] { rows.flatMap { $0.json.bytes + [UInt8(ascii: "\n")] } }

    private static func lines(_ resources: [some WireResource]) -> [UInt8] {
        var lines: [UInt8] = []
        for resource in resources {
            JSONWriter.append(to: &lines) { resource.write(to: &$0) }
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}

extension ExportedList {
    /// A card has at most 1 MB, a version 60 KB, a turn 3 KB.
    fileprivate var pageLimit: Int { self == .cards ? 4 : self == .turns ? 200 : 50 }
}

extension AvatarImage.Format {
    fileprivate var fileExtension: String {
        switch self {
        case .png: "png"
        case .jpeg: "jpeg"
        case .webp: "webp"
        }
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
    init(_ message: ConversationMessage) {
        self.init(
            conversationID: message.conversationID.uuid, source: message.source.rawValue, message: MessageResource(message.message))
    }
}
