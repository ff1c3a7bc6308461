import CoachCore
import Foundation
import JSON

/// The figures that an evaluation must reach: per set of folds and stratum a smallest or a largest share of rows.
public struct EvaluationFloors: Sendable {
    private struct Bound: Sendable {
        var column: String
        var stratum: String
        var minimum: Double?
        var maximum: Double?
    }

    private var bounds: [Bound] = []

    /// `[{"folds": …, "stratum": …, "at_least": …, "at_most": …}]`.
    public init(json: [UInt8]) throws {
        for value in try JSONValue(parsing: json).elements ?? [] {
            guard case .string(let folds)? = value["folds"], case .string(let stratum)? = value["stratum"] else { continue }
            bounds.append(
                Bound(
                    column: folds, stratum: stratum, minimum: value["at_least"]?.number, maximum: value["at_most"]?.number))
        }
    }

    /// One line for each figure outside its bounds, or that no row counts for. `shares` are by column and stratum. Only bounds of
    /// `columns` are looked at; of all without it.
    public func findings(_ shares: [String: [String: Double]], columns: [String]? = nil) -> [String] {
        bounds.filter { columns?.contains($0.column) ?? true }.compactMap { bound in
            guard let share = shares[bound.column]?[bound.stratum] else { return "\(bound.column), \(bound.stratum): no rows" }
            let isInside = share >= bound.minimum ?? 0 && share <= bound.maximum ?? 1
            return isInside ? nil : "\(bound.column), \(bound.stratum): \(share) is outside its bounds"
        }
    }
}
