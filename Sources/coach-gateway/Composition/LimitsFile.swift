import CoachCore
import CoachStore
import Foundation
import GatewayAPI
import JSON

/// Reads `deploy/limits.json`.
enum LimitsFile {
    static func read(_ bytes: [UInt8]) -> (limits: TurnLimits?, findings: [String]) {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue(parsing: bytes)
        } catch {
            return (nil, ["limits: \(error.text(in: bytes))"])
        }
        guard root.members != nil else { return (nil, ["limits: not a JSON object"]) }
        var reader = Reader()
        var tiers: [String: TurnLimits.Tier] = [:]
        for member in root["tiers"]?.members ?? [] {
            let path = "limits.tiers.\(member.key)"
            reader.refuseUnknown(member.value, path, known: ["messages_per_day", "concurrent_turns", "usd_per_day"])
            tiers[member.key] = TurnLimits.Tier(
                messagesPerDay: reader.count(member.value["messages_per_day"], path + ".messages_per_day"),
                concurrentTurns: reader.count(member.value["concurrent_turns"], path + ".concurrent_turns"),
                costPerDay: reader.money(member.value["usd_per_day"], path + ".usd_per_day"))
        }
        reader.refuseUnknown(
            root, "limits",
            known: ["note", "requests_per_minute", "default_tier", "tiers", "crisis", "history", "usd_reserved_per_turn"])
        if let crisis = root["crisis"] {
            reader.refuseUnknown(crisis, "limits.crisis", known: ["model_calls_per_day", "concurrent_turns"])
        }
        var crisis = TurnLimits.CrisisAllowance()
        if let calls = reader.count(root["crisis"]?["model_calls_per_day"], "limits.crisis.model_calls_per_day") {
            crisis.modelCallsPerDay = calls
        }
        if let turns = reader.count(root["crisis"]?["concurrent_turns"], "limits.crisis.concurrent_turns") {
            crisis.concurrentTurns = turns
        }
        let perMinute = reader.count(root["requests_per_minute"], "limits.requests_per_minute")
        let tier = root["default_tier"]?.string
        let tokens = reader.count(root["history"]?["tokens"], "limits.history.tokens")
        let messages = reader.count(root["history"]?["messages"], "limits.history.messages")
        let reserve = reader.money(root["usd_reserved_per_turn"], "limits.usd_reserved_per_turn")
        if perMinute == nil { reader.findings.append("limits.requests_per_minute: is required") }
        if tier.flatMap({ tiers[$0] }) == nil { reader.findings.append("limits.default_tier: must name one of the tiers") }
        guard reader.findings.isEmpty, let perMinute, let tier else { return (nil, reader.findings) }
        return (
            TurnLimits(
                requestsPerMinute: perMinute, defaultTier: tier, tiers: tiers, crisis: crisis, historyTokens: tokens ?? 0,
                historyMessages: messages ?? 0, reservePerTurn: reserve), []
        )
    }

    private struct Reader {
        var findings: [String] = []

        mutating func count(_ value: JSONValue?, _ path: String) -> Int? {
            guard let value, value != .null else { return nil }
            guard let number = value.integer, (1...1_000_000_000).contains(number) else {
                findings.append("\(path): must be a whole number above 0")
                return nil
            }
            return Int(number)
        }

        mutating func money(_ value: JSONValue?, _ path: String) -> Nanodollars? {
            guard let value, value != .null else { return nil }
            guard let raw = value.string.flatMap(MoneyText.nanodollars), raw >= 0 else {
                findings.append("\(path): must be a decimal text in US dollars")
                return nil
            }
            return Nanodollars(raw)
        }

        mutating func refuseUnknown(_ value: JSONValue, _ path: String, known: Set<String>) {
            for member in value.members ?? [] where !known.contains(member.key) { findings.append("\(path).\(member.key): unknown key") }
        }
    }
}
