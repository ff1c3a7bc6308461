import Foundation
import Testing

/// Every route that compares `If-Match`, by the contract's own list.
@Suite("Stale versions", .paced)
struct StaleVersionTests {
    /// A resource that was changed since `stale` was its `ETag`, and a request that would change it.
    private struct Edit: Sendable {
        var user: TestUser
        var method: String
        /// Of the resource and of the request.
        var (item, path): (String, String)
        var body: [UInt8]
        var stale: String

        func send(_ tag: String?) async throws -> Answer {
            try await user.browser.send(
                method, path, body: body.isEmpty ? nil : body,
                headers: (tag.map { ["If-Match": $0] } ?? [:]).merging(["Accept": "application/json"]) { $1 })
        }

        func tag() async throws -> String { try #require(try await user.send("GET", item).headers["etag"]) }
    }

    @Test("the document declares If-Match where the contract compares it, and nowhere else")
    func declared() async throws {
        let document = try await Browser(port: TestBed.shared().gateway.port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        var declared: [String: Bool] = [:]
        for (path, operations) in paths {
            for (method, operation) in operations {
                guard let tag = (operation["parameters"] as? [[String: Any]] ?? []).first(where: { $0["name"] as? String == "If-Match" })
                else { continue }
                declared["\(method.uppercased()) \(path)"] = tag["required"] as? Bool == true
                let statuses = (operation["responses"] as? [String: Any] ?? [:]).keys
                #expect(statuses.contains("412") && statuses.contains("428") == (tag["required"] as? Bool == true), "\(method) \(path)")
            }
        }
        #expect(declared == ContractRoutes.versioned)
    }

    @Test("a change from a stale version is 412 with the current one; of concurrent changes from the current version one has effect")
    func everyRoute() async throws {
        // One of its own: documents of operators are for a whole installation.
        let (database, simulator) = (try await Database.ofItsOwn(), try await Simulator())
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        for (route, isRequired) in ContractRoutes.versioned.sorted(by: { $0.key < $1.key }) {
            let edit = try await edit(route, gateway)
            let current = try await edit.tag()
            #expect(edit.stale != current, "\(route)")
            for tag in [edit.stale, "\"v99999999\"", "W/\(current)", "\"v\"", "x", "", "\(edit.stale), \"v99999999\""] {
                let answer = try await edit.send(tag)
                let name: Comment = "\(route) \(tag): \(answer.status) \(answer.text.prefix(300))"
                #expect(answer.status == 412 && answer.errorCode == "BIZ_2008", name)
                #expect(answer.headers["etag"] == current && answer.error["action"] == "reload", "\(route) \(tag)")
                #expect(!answer.error.object("details").object("current").names.isEmpty, "\(route) \(tag)")
            }
            if isRequired {
                let answer = try await edit.send(nil)
                #expect(answer.status == 428 && answer.errorCode == "BIZ_2008", "\(route): \(answer.text.prefix(300))")
            }
            #expect(try await edit.tag() == current, "\(route)")

            // Deletion, publication and its end compare the version only when they are sent, and have no text to lose.
            let isEdit = isRequired || edit.method == "PATCH"
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<(isEdit ? 4 : 1) { group.addTask { try await edit.send("\(edit.stale), \(current)").status } }
                return try await group.reduce(into: []) { $0.append($1) }.sorted()
            }
            #expect(statuses == (isEdit ? [200, 412, 412, 412] : [200]), "\(route)")
        }
    }

    private func edit(_ route: String, _ gateway: Gateway) async throws -> Edit {
        let parts = route.split(separator: " ").map(String.init)
        let (method, template) = (parts[0], parts[1])
        if template.hasPrefix("/api/v1/operator/") { return try await documentEdit(method, template, gateway) }
        let user = TestUser(gateway: gateway, role: "creator")
        var (item, former, latter): (String, [String: Any], [String: Any])
        if template.hasPrefix("/api/v1/context-profile") {
            (item, former, latter) = ("/api/v1/context-profile", ["goals": ["one"]], ["goals": ["two"]])
        } else {
            let list = template.hasPrefix("/api/v1/personas") ? "/api/v1/personas" : "/api/v1/conversations"
            let key = list == "/api/v1/personas" ? "name" : "title"
            let id = try #require(try await user.send("POST", list, [key: "Ada"]).data["id"])
            (item, former, latter) = ("\(list)/\(id)", [key: "Bea"], [key: "Cea"])
            if key == "name" { #expect(try await user.send("POST", "\(item)/publish").status == 200) }
        }
        let change = item.contains("conversations") ? "PATCH" : "PUT"
        let stale = try #require(try await user.send(change, item, former, headers: ["If-Match": "*"]).headers["etag"])
        #expect(try await user.send(change, item, latter, headers: ["If-Match": "*"]).status == 200)
        let path = template.replacing(/^.*\{id\}/, with: item)
        let body: [String: Any]? =
            switch path.split(separator: "/").last {
            case "rollback": ["version": 1]
            case "card": ["spec": "chara_card_v2", "spec_version": "2.0", "data": ["name": "Dea"]]
            case "publish", "unpublish", "undo": nil
            default: method == "DELETE" ? nil : former
            }
        let bytes = try body.map { Array(try JSONSerialization.data(withJSONObject: $0)) } ?? []
        return Edit(user: user, method: method, item: item, path: path, body: bytes, stale: stale)
    }

    /// Of the document as it is, with a reason.
    private func documentEdit(_ method: String, _ template: String, _ gateway: Gateway) async throws -> Edit {
        let user = TestUser(gateway: gateway, role: "operator")
        let path = template.replacing("{id}", with: "fitness")
        let item = path.replacing("/rollback", with: "")
        let read = try await user.send("GET", item)
        let json = try JSONSerialization.jsonObject(with: Data(read.body)) as? [String: Any]
        let document = try #require((json?["data"] as? [String: Any])?["body"])
        let stale = try #require(read.headers["etag"])
        let same = Array(try JSONSerialization.data(withJSONObject: ["body": document, "reason": "the same again"]))
        let saved = try await user.browser.send("PUT", item, body: same, headers: ["If-Match": stale])
        #expect(saved.status == 200, "\(item): \(saved.text.prefix(300))")
        let rollback = Array(#"{"version":1,"reason":"as it was"}"#.utf8)
        return Edit(
            user: user, method: method, item: item, path: path, body: path == item ? same : rollback, stale: stale)
    }
}
