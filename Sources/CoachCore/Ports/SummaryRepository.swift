/// Port to the rolling summaries of conversations. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct SummaryRepository: Sendable {
    /// What is to be summarised now, with its call recorded in the ledger and its reserve in the user's budgets; nil when there is nothing, summaries
    /// are not allowed, or a budget of the user is used up.
    public var begin: @Sendable (UserID, SummaryRequest) async throws -> SummaryTask?
    /// Saves what is billed for the task when this process ends before `finish`. Call it before the request leaves; false: the task has been ended
    /// meanwhile, because the lease of this process expired, and no request may leave.
    public var estimate: @Sendable (UserID, SummaryRequest, SummaryTask, TurnBill) async throws -> Bool
    /// Gives back the reserve, books the calls and replaces the summary, unless another one was made since or the text is empty. Returns whether it
    /// was replaced. Idempotent.
    public var finish: @Sendable (UserID, SummaryReceipt) async throws -> Bool

    public init(
        begin: @escaping @Sendable (UserID, SummaryRequest) async throws -> SummaryTask?,
        estimate: @escaping @Sendable (UserID, SummaryRequest, SummaryTask, TurnBill) async throws -> Bool,
        finish: @escaping @Sendable (UserID, SummaryReceipt) async throws -> Bool
    ) {
        self.begin = begin
        self.estimate = estimate
        self.finish = finish
    }
}

/// The conversation to summarise, and the turn after which.
public struct SummaryRequest: Sendable, Equatable {
    public var conversationID: ConversationID
    public var turnID: TurnID
    public var attempt: Int
    /// The limit of the history in a prompt.
    public var tokens: Int

    public init(conversationID: ConversationID, turnID: TurnID, attempt: Int, tokens: Int) {
        self.conversationID = conversationID
        self.turnID = turnID
        self.attempt = attempt
        self.tokens = tokens
    }
}

/// What is to be summarised by one call of a model.
public struct SummaryTask: Sendable, Equatable {
    /// The call's day (UTC) in the ledger.
    public var day: CalendarDay
    /// The call's number among those of the turn's attempt.
    public var call: Int
    /// The places of messages in the conversation: those after `from`, up to `through`.
    public var from: Int
    public var through: Int
    /// The summary of the messages up to `from`.
    public var summary: String?
    /// Oldest first.
    public var messages: [HistoryMessage]
    /// The tier of the turn, whose route is used.
    public var tier: String
    public var domain: Domain?
    public var personaID: PersonaID?

    public init(
        day: CalendarDay, call: Int, from: Int, through: Int, summary: String?, messages: [HistoryMessage], tier: String, domain: Domain?,
        personaID: PersonaID?
    ) {
        self.day = day
        self.call = call
        self.from = from
        self.through = through
        self.summary = summary
        self.messages = messages
        self.tier = tier
        self.domain = domain
        self.personaID = personaID
    }
}

/// The result of a task.
public struct SummaryReceipt: Sendable, Equatable {
    public var request: SummaryRequest
    public var task: SummaryTask
    /// Empty when the call failed.
    public var summary: String
    /// At least that of the task.
    public var calls: [BilledCall]

    public init(request: SummaryRequest, task: SummaryTask, summary: String, calls: [BilledCall]) {
        self.request = request
        self.task = task
        self.summary = summary
        self.calls = calls
    }
}
