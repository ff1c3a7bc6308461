import Foundation

/// Port to the figures of all users, for operators. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`, and `NotAllowed` when the
/// caller is not an operator.
public struct Figures: Sendable {
    /// A row for each group, in the order of the keys. Throws `InvalidFigureQuery` and `InvalidCursor`.
    public var table: @Sendable (Caller, Figure, FigureQuery) async throws -> FigureTable
    /// A page of `Figure.calls`. Throws `InvalidCursor`.
    public var calls: @Sendable (Caller, CallQuery, PageRequest) async throws -> FigureTable
    /// A page of `Figure.retentionUsers`. Throws `InvalidCursor`.
    public var retentionUsers: @Sendable (Caller, RetentionQuery, PageRequest) async throws -> FigureTable
    /// A page of `Figure.reports`. Throws `InvalidCursor`.
    public var reports: @Sendable (Caller, PageRequest) async throws -> FigureTable
    /// A page of `Figure.alerts`; `isFiring`: nil: all. Throws `InvalidCursor`.
    public var alerts: @Sendable (Caller, _ isFiring: Bool?, PageRequest) async throws -> FigureTable

    /// All of `Figure.health`.
    public var health: @Sendable (Caller) async throws -> FigureTable
    /// All of `Figure.measures`.
    public var measures: @Sendable (Caller) async throws -> FigureTable

    public init(
        table: @escaping @Sendable (Caller, Figure, FigureQuery) async throws -> FigureTable,
        calls: @escaping @Sendable (Caller, CallQuery, PageRequest) async throws -> FigureTable,
        retentionUsers: @escaping @Sendable (Caller, RetentionQuery, PageRequest) async throws -> FigureTable,
        reports: @escaping @Sendable (Caller, PageRequest) async throws -> FigureTable,
        alerts: @escaping @Sendable (Caller, _ isFiring: Bool?, PageRequest) async throws -> FigureTable,
        health: @escaping @Sendable (Caller) async throws -> FigureTable, measures: @escaping @Sendable (Caller) async throws -> FigureTable
    ) {
        self.table = table
        self.calls = calls
        self.retentionUsers = retentionUsers
        self.reports = reports
        self.alerts = alerts
        self.health = health
        self.measures = measures
    }
}

/// Which part of a figure is wanted.
public struct FigureQuery: Sendable, Hashable {
    /// The length of a bucket when grouped by day. Raw values are those of the functions.
    public enum Grain: String, Sendable, CaseIterable {
        case hour, day, week
    }

    /// `end` is not included; whole quarters of an hour.
    public var period: Range<Date>
    /// Names of groups of the figure.
    public var groups: [String]
    public var grain: Grain
    /// The time zone of days and weeks; IANA.
    public var timeZone: String
    public var limit: Int
    /// Names the last row of the page before; nil for the first page.
    public var cursor: String?
    /// The rows of a figure by user are these users' alone, nil among them for rows without a user; nil: all rows.
    public var users: Set<String?>?

    public init(
        period: Range<Date>, groups: [String], grain: Grain, timeZone: String = "UTC", limit: Int = 10_000, cursor: String? = nil
    ) {
        self.period = period
        self.groups = groups
        self.grain = grain
        self.timeZone = timeZone
        self.limit = limit
        self.cursor = cursor
    }
}

/// Which calls are wanted.
public struct CallQuery: Sendable, Equatable {
    /// The value of `error_code` that stands for any.
    public static let anyError = "*"

    /// As in `FigureQuery`.
    public var period: Range<Date>
    /// Values of keys of `Figure.costs`, of `error_code` and of `error`; nil: none.
    public var filter: [String: String?]

    public init(period: Range<Date>, filter: [String: String?]) {
        self.period = period
        self.filter = filter
    }
}

/// Which users of `Figure.retentionUsers` are wanted.
public struct RetentionQuery: Sendable, Equatable {
    /// As in `FigureQuery`.
    public var period: Range<Date>
    /// The beginning of the week in which they came; nil: any.
    public var cohort: Date?
    /// Weeks after the cohort's own, in which they were active; nil: any.
    public var week: Int?

    public init(period: Range<Date>, cohort: Date? = nil, week: Int? = nil) {
        self.period = period
        self.cohort = cohort
        self.week = week
    }
}

/// Rows of a figure.
public struct FigureTable: Sendable, Equatable {
    /// Everything that was booked before is included; nil: not known yet.
    public var asOf: Date?
    /// Values in the order of the figure's columns.
    public var rows: [[FigureValue]]
    /// The cursor of the next page; nil on the last one.
    public var nextCursor: String?

    public init(asOf: Date? = nil, rows: [[FigureValue]], nextCursor: String? = nil) {
        self.asOf = asOf
        self.rows = rows
        self.nextCursor = nextCursor
    }
}

/// The database does not know the time zone.
public struct InvalidFigureQuery: Error, Sendable, Equatable {
    public init() {}
}
